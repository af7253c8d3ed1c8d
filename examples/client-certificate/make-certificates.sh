#!/bin/sh
# Makes an authority and two certificates of it in certificates/: one for the server, one for who asks.
set -e
mkdir -p certificates
cd certificates
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=Example CA" \
    -addext keyUsage=critical,keyCertSign -keyout ca.key -out ca.pem 2>/dev/null
issue() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$2" -keyout "$1.key" -out "$1.csr" 2>/dev/null
    printf '%s\n' "$3" >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile "$1.ext" -out "$1.pem" 2>/dev/null
    rm "$1.csr" "$1.ext"
}
issue server localhost subjectAltName=IP:127.0.0.1
issue client robot extendedKeyUsage=clientAuth
