#!/usr/bin/env bash
# Everything `make bench` measures: the stages of a run against their budgets, and whole runs beside other programs.
# A small nginx serves files on 127.0.0.1; it is ended by its own process id.
#
# usage: [BENCH_FOLDER=DIR] [SOAK=SECONDS] tools/bench.sh [PORT]
set -euo pipefail
cd "$(dirname "$0")/.."
port=${1:-18480}
place=${BENCH_FOLDER:-$PWD/.bench}
run=$place/run.$$
mkdir -p "$place/docroot/small" "$run/nginx"

if [[ ! -e $place/docroot/.done ]]; then
    head -c $((10000 * 1024)) /dev/urandom |
        (cd "$place/docroot/small" && split -b 1024 -d -a 5 --additional-suffix=.bin - f)
    touch "$place/docroot/.done"
fi

# Its workers would otherwise be another user than root, and could write nothing here.
user=""
[[ $EUID -ne 0 ]] || user="user root;"
cat >"$run/nginx.conf" <<CONF
$user
worker_processes 2; daemon off; pid $run/nginx.pid; error_log $run/nginx.log warn;
events { worker_connections 1024; }
http {
    access_log off; default_type application/octet-stream; sendfile on; tcp_nopush on; keepalive_requests 10000000;
    open_file_cache max=20000 inactive=300s; open_file_cache_valid 300s;
    client_body_temp_path $run/nginx/b; proxy_temp_path $run/nginx/p; fastcgi_temp_path $run/nginx/f;
    uwsgi_temp_path $run/nginx/u; scgi_temp_path $run/nginx/s;
    server {
        listen 127.0.0.1:$port; root $place/docroot;
        location /limited/ { alias $place/docroot/huge/; limit_rate 100m; }
        location /sink/ {
            root $run; dav_methods PUT; create_full_put_path on;
            client_max_body_size 0; client_body_buffer_size 1m;
        }
    }
}
CONF
nginx -e "$run/nginx.log" -c "$run/nginx.conf" &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true' EXIT
for _ in $(seq 100); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
    sleep 0.05
done

"${SWIFTPM_BUILD_DIR:-.build}/release/transfer-run-bench" "http://127.0.0.1:$port" "$run/stages"
echo
"${SWIFTPM_BUILD_DIR:-.build}/release/transfer-run-bench" scale
echo
python3 tools/bench.py "http://127.0.0.1:$port" "$place/docroot" "$run/whole"
echo
python3 tools/bench_background.py "http://127.0.0.1:$port" "$place/docroot" "$run/background"
echo
echo "The files written stay in $place until \`make clean\` or you remove them: removing them now would slow the next round on ext4."
