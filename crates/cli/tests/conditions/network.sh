# Four namespaces in a row, h1 – r1 – r2 – h2, with the kernel's own defaults: sh network.sh PREFIX up|down
# h1 has 10.91.1.2 and fd91:1::2 on a0, r1 has a1 and b0, r2 has b1 and c0, h2 has 10.91.3.2 and fd91:3::2 on c1.
p=$1
if [ "$2" = down ]; then
    for n in h1 r1 r2 h2; do
        ip netns pids "$p$n" | xargs -r kill -KILL
        ip netns del "$p$n"
    done 2>/dev/null
    # The control groups of processes that are gone, seen where only this command sees them.
    unshare -m sh -c 'mount -t cgroup -o cpu none /mnt || mount -t cgroup2 none /mnt; rmdir /mnt/caudal-test-*' 2>/dev/null
    exit 0
fi
set -e
for n in h1 r1 r2 h2; do
    ip netns add "$p$n"
    ip -n "$p$n" link set lo up
done
pair() {
    ip link add "$2" netns "$p$1" type veth peer name "$4" netns "$p$3"
    ip -n "$p$1" link set "$2" up
    ip -n "$p$3" link set "$4" up
}
pair h1 a0 r1 a1
pair r1 b0 r2 b1
pair r2 c0 h2 c1
for n in r1 r2; do
    ip netns exec "$p$n" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
done
address() {
    ip -n "$p$1" addr add "$3" dev "$2"
    ip -n "$p$1" -6 addr add "$4" dev "$2" nodad
}
address h1 a0 10.91.1.2/24 fd91:1::2/64
address r1 a1 10.91.1.1/24 fd91:1::1/64
address r1 b0 10.91.2.1/24 fd91:2::1/64
address r2 b1 10.91.2.2/24 fd91:2::2/64
address r2 c0 10.91.3.1/24 fd91:3::1/64
address h2 c1 10.91.3.2/24 fd91:3::2/64
ip -n "${p}h1" route add default via 10.91.1.1
ip -n "${p}h1" -6 route add default via fd91:1::1
ip -n "${p}h2" route add default via 10.91.3.1
ip -n "${p}h2" -6 route add default via fd91:3::1
ip -n "${p}r1" route add 10.91.3.0/24 via 10.91.2.2
ip -n "${p}r1" -6 route add fd91:3::/64 via fd91:2::2
ip -n "${p}r2" route add 10.91.1.0/24 via 10.91.2.1
ip -n "${p}r2" -6 route add fd91:1::/64 via fd91:2::1
