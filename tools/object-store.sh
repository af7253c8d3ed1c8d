#!/usr/bin/env bash
# Signed requests on an object store that checks signatures: moto, in an environment of its own below .build. Puts, gets
# and lists names that want escaping, also by `to: s3://…`, and expects that a wrong key is refused.
#
# usage: tools/object-store.sh [BINARY]
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$(realpath "${1:-.build/release/transfer-run}")
environment=.build/object-store

if [[ ! -x $environment/bin/moto_server ]]; then
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check 'moto[s3]==5.*' flask flask-cors
fi
environment=$(realpath "$environment")
folder=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT

# The first calls, which make the bucket and the key, are not asked who they are; all others are.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
INITIAL_NO_AUTH_ACTION_COUNT=5 "$environment/bin/moto_server" -H 127.0.0.1 -p "$port" >"$folder/server.log" 2>&1 &
server=$!
"$environment/bin/python" - "$port" >"$folder/key" <<'PYTHON'
import json, sys, time
import boto3
from botocore.exceptions import EndpointConnectionError
where = dict(endpoint_url=f"http://127.0.0.1:{sys.argv[1]}", region_name="us-east-1",
             aws_access_key_id="nobody", aws_secret_access_key="nothing")
iam = boto3.client("iam", **where)
for _ in range(100):
    try:
        iam.create_user(UserName="runner")
        break
    except EndpointConnectionError:
        time.sleep(0.1)
all_of_it = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
policy = iam.create_policy(PolicyName="all", PolicyDocument=json.dumps(all_of_it))["Policy"]["Arn"]
iam.attach_user_policy(UserName="runner", PolicyArn=policy)
key = iam.create_access_key(UserName="runner")["AccessKey"]
boto3.client("s3", **where).create_bucket(Bucket="bucket")
print(key["AccessKeyId"], key["SecretAccessKey"])
PYTHON
read -r access secret <"$folder/key"

cd "$folder"
head -c 3000000 /dev/urandom >file
job() { # SECRET
    cat <<YAML
name: object-store
sessions:
  default:
    credentials: [{ method: awsSigV4, accessKey: "$access", secretKey: "$1", region: us-east-1, service: s3, endpoint: "http://127.0.0.1:$port" }]
    retry: { attempts: 1 }
tasks:
  - id: put-\${name.index}
    forEach: { name: [plain, "with space", "a+b", "a~b", "ü", "x/y", "a=b&c", "100%25"] }
    type: upload
    method: PUT
    url: http://127.0.0.1:$port/bucket/\${name}
    body: { file: file }
  - id: get-\${name.index}
    forEach: { name: [plain, "with space", "a+b", "a~b", "ü", "x/y", "a=b&c", "100%25"] }
    needs: ["put-*"]
    url: http://127.0.0.1:$port/bucket/\${name}
    to: got-\${name.index}
  - { id: list, needs: ["put-*"], url: "http://127.0.0.1:$port/bucket", query: { list-type: 2, prefix: "a+" } }
  - id: through-\${name.index}
    forEach: { name: ["with space", "a+b", "ü", "a=b&c"] }
    needs: ["put-*"]
    url: http://127.0.0.1:$port/bucket/\${name}
    to: s3://bucket/through/\${name}
  - id: back-\${name.index}
    forEach: { name: ["with space", "a+b", "ü", "a=b&c"] }
    needs: ["through-*"]
    url: http://127.0.0.1:$port/bucket/through/\${name}
    to: back-\${name.index}
  - { id: text, type: upload, method: PUT, url: "http://127.0.0.1:$port/bucket/text", body: { data: hello } }
YAML
}
job "$secret" >right.yaml
job "x$secret" >wrong.yaml
HOME=$folder "$binary" run -q right.yaml
for number in 1 2 3 4 5 6 7 8; do cmp file "got-$number"; done
for number in 1 2 3 4; do cmp file "back-$number"; done
HOME=$folder "$binary" run -q right.yaml --only 'through-*' --only 'put-*' >again.log 2>&1
grep -q '4 unchanged' again.log || { cat again.log; echo "object store: objects that are there were put again"; exit 1; }
status=0
HOME=$folder "$binary" run -q wrong.yaml >wrong.log 2>&1 || status=$?
if [[ $status -ne 1 ]] || ! grep -q '9 failed, 17 skipped' wrong.log; then
    cat wrong.log
    echo "object store: a wrong key was not refused"
    exit 1
fi
echo "object store: put, got and listed, and put through; a wrong key is refused"
