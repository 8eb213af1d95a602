//! The help of nttcp's command line.

/// The answer to `-?`.
pub(super) const HELP: &str = "\
Usage: nttcp [local options] host [remote options]
       nttcp -i [-p port]
  -t          send (default)            -r          receive
  -u          UDP instead of TCP        -l#         bytes in a buffer (4096)
  -n#         buffers (2048)            -x#         bytes in all; computes -n or -l
  -w#         socket buffers in kilobytes (TCP)     -D   no delay (TCP)
  -g#         gap in microseconds between writes
  -T          print a row of titles     -f format   columns, such as %9b%8.2rt%12.4rbr%8c
  -p#         control port (5037)       -i          wait for clients
  -v          verbose   -V  version     -?          this text
Columns: l BufLen, n BufCnt, b Bytes, c Calls, rt Real s, ct CPU s, rbr Real-MBit/s, cbr CPU-MBit/s, rcr Real-C/s,
ccr CPU-C/s, each as %width.decimals. Options in NTTCP_LOC_OPT come before the local ones, those in NTTCP_REM_OPT
before the remote ones. An option of nttcp that is not listed is refused by its name.
";
