//! The help of iperf 2's command line.

/// The lines after an error in the command line.
pub(super) const USAGE: &str =
    "Usage: iperf [-s|-c host] [options]\nTry `iperf --help' for more information.\n";

/// The answer to `--help`.
pub(super) const HELP: &str = "\
Usage: iperf [-s|-c host] [options]
       iperf [-h|--help] [-v|--version]

Client/Server:
  -b, --bandwidth #[kmgKMG | pps]  rate to send at in bits/sec or packets/sec; over UDP also mean,deviation
  -e, --enhanced           more columns
  -f, --format    [abkmgtABKMGT]   unit of the report
      --hide-ips           hide ip addresses within outputs
      --histograms[=#[um],#[,#,#]] one-way times by bins: width (100u), number (10000), percentiles (5,95)
  -i, --interval  #        seconds between periodic reports
  -l, --len       #[kmKM]  length of buffer to read or write (TCP=128K, v4 UDP=1470, v6 UDP=1450)
  -m, --print_mss          print the TCP maximum segment size
  -o, --output    <file>   write the report to this file
  -p, --port      #[-#]    server port, or range of ports, to listen on or connect to (5001)
      --permit-key=<key>   serve, or ask as, those who know this key (TCP only)
      --sum-only           print sums only
  -u, --udp                UDP instead of TCP
      --utc                show times in UTC
  -w, --window    #[KM]    socket buffer size
  -B, --bind <host>[:<port>][%<dev>] local address, port and device; a multicast address of a server is joined
  -C, --compatibility      send no test header
  -M, --mss       #        TCP maximum segment size
  -N, --nodelay            disable Nagle's algorithm
  -S, --tos       #        the IP TOS byte, or a name such as ef
      --dscp      #        the DSCP
  -Z, --tcp-congestion <algo>  TCP congestion control
  -4, --v4   -6, --v6      address family

Server specific:
  -s, --server             run in server mode
  -t, --time      #        seconds to listen and receive
  -1, --singleclient       one client at a time
  -P, --parallel  #        end after so many clients
  -U, --single_udp         one UDP client at a time
  -D, --daemon             run in the background
  -H, --ssm-host <ip>      the only source of the multicast group to hear
      --skip-rx-copy       drop received payload in the kernel
  -V, --ipv6_domain        listen on IPv6 as well

Client specific:
  -c, --client    <host>[%dev]  run in client mode
      --bounceback[=#]     response times: requests in each period (10), each after the answer to the one before
      --bounceback-request #   bytes in a request (100)
      --bounceback-reply #     bytes in a reply (as in a request); another number takes a server since 2.2
      --bounceback-period #    seconds from period to period (1), 0 for no pause
      --bounceback-hold #      milliseconds that the server waits before it answers
      --bounceback-no-quickack leave the server's acknowledgements delayed
      --burst-period #     seconds from the beginning of a burst to that of the next (1)
      --burst-size #[kmKM] send bursts of this many bytes instead of a stream (TCP)
      --connect-only[=#]   make connections only
  -d, --dualtest           both directions at once, the server connects back
      --fq-rate   #[kmgKMG]    pacing by the kernel
      --full-duplex        both directions at once on one connection
      --incr-dstport       connections after the first go to the ports that follow
      --ipg       #        milliseconds from datagram to datagram (instead of -b)
  -n, --num       #[kmgKMG]    bytes to transmit (instead of -t)
      --no-udp-fin         no report at the end of a UDP test
  -r, --tradeoff           both directions one after the other, the server connects back
  -t, --time      #        seconds to transmit (10), 0 for no end
      --trip-times         stamp what is sent, for one-way delays (takes clocks that agree)
      --txdelay-time #     seconds to hold back before the first write
      --txstart-time #     when to begin, in seconds since 1970
  -F, --file_input <name>  send a file
  -I, --stdin              send standard input
  -L, --listenport #       port to be connected back to
  -P, --parallel  #        connections at once
  -R, --reverse            the server sends
  -T, --ttl       #        time to live of multicast (1)
  -V, --ipv6_domain        use IPv6
  -X, --peer-detect        exchange versions

Miscellaneous:
  -x, --reportexclude [CDMSV]   exclude C(connection) D(data) M(multicast) S(settings) V(server) reports
  -y, --reportstyle C      report as comma-separated values
  -h, --help   -v, --version

Suffixes: k, m, g are powers of 1000; K, M, G are powers of 1024.
Most options can be set by an environment variable IPERF_<LONG NAME>, such as IPERF_BANDWIDTH, and the window
by TCP_WINDOW_SIZE. An option of iperf 2 that is not listed is refused by its name.
";
