/// Inputs of the tests: several of each format.
enum ImportSamples {
    static let all: [(name: String, text: String)] = curl + wget + configurations + lists + metalinks

    // MARK: Command lines and scripts

    private static let curl: [(name: String, text: String)] = [
        ("curl-simple", "curl -LO https://example.org/a.iso\n"),
        (
            "curl-script",
            """
            #!/bin/bash
            set -euo pipefail
            VERSION=1.2.3   # of the tool
            mkdir -p dist
            curl -fsSL -o "dist/tool-$VERSION.tar.gz" \\
              "https://example.org/tool-${VERSION}.tgz" --retry 3 --retry-delay 2
            curl -T dist/tool-1.2.3.tar.gz https://up.example.org/in/ --limit-rate 100K
            tar xf dist/tool-1.2.3.tar.gz
            """
        ),
        (
            "curl-secrets",
            """
            curl -u me:hunter2 https://api.example.org/a -o a
            curl -H "Authorization: Bearer $GH_TOKEN" https://api.github.com/user -o user.json
            curl -H 'Authorization: Bearer abc' -H 'X-Api-Key: def' https://api.example.org/b > b.json
            curl -b 'sid=1; lang=de' https://api.example.org/c -o c
            """
        ),
        (
            "curl-bodies",
            """
            curl https://a.test/1 -d a=1 -d 'b=2 3'
            curl https://a.test/2 --json '{"a": "${b}", "c": $1}'
            curl https://a.test/3 --data-binary @big.bin -H 'Content-Type: application/x-thing'
            curl https://a.test/4 -F 'f=@a.txt;type=text/plain;filename=b.txt' -F 'name=value; more' -F 'g=<c.txt'
            curl -G https://a.test/5?x=1 --data-urlencode 'q=a b&c' -d z=1 -o five
            curl -X PATCH https://a.test/6 --data-urlencode 'text=ä'
            curl -X GET https://a.test/7 -d query
            curl https://a.test/8 -d a=1 -d @more.txt
            """
        ),
        (
            "curl-globs",
            "curl 'https://a.test/{one,two}/[08-10].txt' -o '#1-#2.txt' --globoff \n"
                + "curl 'https://a.test/{one,two}/[08-10:2].txt' -o '#1-#2.txt'\n"
        ),
        (
            "curl-sessions",
            """
            curl -LO https://a.test/1 --cacert ca.pem --tlsv1.3 --cert me.pem:pw --connect-timeout 2.5
            curl -LO https://a.test/2 -k -x http://me:pw@proxy.test:3128 --noproxy a.test,.b.test -4
            curl -LO https://a.test/3 --resolve a.test:443:127.0.0.1 --connect-to b.test:443:[::1]:8443
            curl -LO https://a.test/4 --unix-socket /run/x.sock -c jar.txt -b jar.txt --http1.1
            curl -LO https://a.test/5 --cacert ca.pem --tlsv1.3 --cert me.pem:pw --connect-timeout 2.5
            """
        ),
        (
            "curl-loops",
            """
            for x in 1 2 3; do
              curl -O https://a.test/$x
            done
            if curl -f https://a.test/ok; then echo yes; fi
            curl https://a.test/$(date +%F) -o today
            cd sub && curl -O https://a.test/y || curl -O https://b.test/y
            curl -s https://a.test/list | jq -r .name | wc -l
            """
        ),
        (
            "curl-for",
            """
            BASE=https://a.test/dl
            LIST="a b/c"
            for v in {1..10}; do
              curl -fsSL -o "v$v.tgz" "$BASE/v$v.tgz"
            done
            for a in amd64 arm64; do for o in linux darwin; do curl -O $BASE/$o/$a/tool; done; done
            for x in $LIST; do f="$x.txt"; wget -q -O "$f" "$BASE/$f"; done
            for f in *.jpg; do curl -T "$f" https://a.test/up/; done
            for n in 1 2 3 4 5; do curl -f https://a.test/h -o h && break; sleep 5; done
            for i in 08 $(date) 10; do curl -O https://a.test/$i; done
            for i in $(seq 3); do curl -o out https://a.test/$i; curl https://a.test/ping; done
            timeout 5m curl -O https://a.test/after/$i
            timeout 5m curl -O https://a.test/slow
            """
        ),
        (
            "curl-while",
            """
            while read -r url; do curl -O "$url"; done < urls.txt
            cat names.txt | while IFS= read -r n; do curl -o "$n.json" "https://a.test/api/$n"; done
            for u in $(cat urls.txt); do curl -O $u; done
            while read u; do wget "$u"; done <<EOF
            https://a.test/q1
            https://a.test/q2
            EOF
            xargs -n1 curl -O < urls.txt
            cat names.txt | xargs -P4 -I{} curl -o {}.html https://a.test/p/{}
            xargs curl -O < urls.txt
            while read -r a b; do curl -o "$a" "$b"; done < pairs.txt
            find . -name x | while read -r x; do curl -T "$x" https://a.test/; done
            """
        ),
        (
            "curl-heredoc",
            "curl https://a.test/x -d @- <<EOF\n{ \"name\": \"$USER\", \"price\": \"\\$5\" }\nEOF\n"
                + "curl https://a.test/y --data-binary @- <<'END'\n$5 as it is\nEND\n"
        ),
        (
            "curl-many",
            "curl -Z --parallel-max 4 --fail-early -o a https://a.test/a -o b https://a.test/b --next -I https://a.test/c\n"
        ),
        (
            "curl-lost",
            "curl -w '%{http_code}' -D headers --proto =https --interface eth0 -o /dev/null https://a.test/x\n"
                + "curl sftp://a.test/x -O\ncurl -C 100 -O https://a.test/y\ncurl -H 'Host: b.test' https://a.test/z -O\n"
                + "curl -H 'Accept:' -H 'Connection: close' -H novalue https://a.test/z -O\ncurl --frobnicate -w x https://a.test/f\n"
        ),
        ("curl-twice", "curl -o same https://a.test/1\ncurl -o ./same https://a.test/2\n"),
        ("curl-all-errors", "curl -fO --retry 5 --retry-all-errors https://a.test/1\n"),
        (
            "curl-times",
            "curl -O https://a.test/1 -m 30 -Y 1000 -y 10 --max-filesize 10M --retry 0 --retry-max-time 60 -R -C - -J --compressed\n"
        ),
    ]

    private static let wget: [(name: String, text: String)] = [
        ("wget-simple", "wget https://example.org/a.iso\n"),
        ("wget-folder", "wget -q -nc -P down 'https://example.org/a b.iso?x=1&y=2' https://example.org/\n"),
        (
            "wget-document",
            "wget -O - https://a.test/x\nwget -O out https://a.test/y\nwget -qO- https://a.test/z > z.txt\n"
        ),
        (
            "wget-login",
            "wget --user=me --password=pw --auth-no-challenge https://a.test/x\nwget --header='Authorization: Bearer t' https://a.test/y\n"
        ),
        (
            "wget-limits",
            "wget -c -t 5 --waitretry=10 -T 20 --limit-rate=200k -w 2 -Q 100m https://a.test/1 https://a.test/2\n"
        ),
        (
            "wget-post",
            "wget --post-data 'a=1&b=2' -O answer https://a.test/x\nwget --method=PUT --body-file=f https://a.test/y -O-\n"
        ),
        ("wget-endless", "wget -t 0 https://a.test/x\nwget --tries=inf https://a.test/y\n"),
        ("wget-list", "wget -i urls.txt -P mirror -N\n"),
        (
            "wget-tls",
            "wget --no-check-certificate https://a.test/1\nwget --ca-certificate=ca.pem --certificate=c.pem --private-key=k.pem https://a.test/2\n"
        ),
        ("wget-cookies", "wget --load-cookies=in.txt --save-cookies=out.txt --keep-session-cookies https://a.test/1\n"),
        ("wget-mirror", "wget -r -l 2 -np -A '*.deb' https://a.test/pool/\nwget -m https://b.test/\n"),
        (
            "wget-spider",
            "wget --spider https://a.test/x\nwget --content-disposition --max-redirect=0 https://a.test/get?id=1\n"
        ),
    ]

    // MARK: Files

    private static let configurations: [(name: String, text: String)] = [
        ("config-simple", "url = \"https://example.org/a\"\noutput = a\n"),
        ("config-quotes", "# comment\nurl: \"https://example.org/a\\\"b\"\noutput=\"x y\\tz\"\n"),
        ("config-dashes", "--url https://example.org/a\n-o a\n-L\n--retry 3\n-s\n"),
        ("config-next", "url = https://a.test/1\nremote-name\nnext\nurl = https://a.test/2\nremote-name\nlocation\n"),
        ("config-user", "user = \"me:secret\"\nurl = \"https://a.test/1\"\noutput = one\n"),
        ("config-many", "url = https://a.test/1\noutput = 1\nurl = https://a.test/2\noutput = 2\nparallel\n"),
        ("config-post", "request = \"POST\"\ndata = \"a=1\"\nheader = \"X-Thing: a b\"\nurl = https://a.test/\n"),
        (
            "config-lost",
            "url = https://a.test/1\nwrite-out = \"%{size_download}\"\nsilent = yes\ninterface = eth0\noutput = x\n"
        ),
        ("config-proxy", "proxy = \"socks5h://localhost:1080\"\nurl = https://a.test/1\nremote-name\n"),
        ("config-dollar", "url = \"https://a.test/${HOME}/$x\"\noutput = \"$$\"\n"),
    ]

    private static let sum = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"

    private static let lists: [(name: String, text: String)] = [
        (
            "list-plain",
            "# of today\nhttps://example.org/a.iso\n\nhttps://example.org/b.iso?x=$1\nhttps://example.org/\n"
        ),
        ("list-same", "https://a.test/x\nhttps://b.test/x\n"),
        (
            "list-mirrors",
            "https://a.test/x.iso\thttps://b.test/x.iso\tftp://c.test/x.iso\n  out=image.iso\n  dir=/data/images\n"
        ),
        ("list-checksum", "https://a.test/x\n  checksum=sha-256=\(sum)\nhttps://a.test/y\n  checksum=sha-224=00\n"),
        (
            "list-speed",
            "https://a.test/x\n  split=8\n  max-connection-per-server=4\n  max-download-limit=1M\n  lowest-speed-limit=10K\n"
        ),
        ("list-retry", "https://a.test/x\n  max-tries=3\n  retry-wait=5\n  timeout=20\n  connect-timeout=5\n"),
        (
            "list-login",
            "https://a.test/x\n  http-user=me\n  http-passwd=pw\n  header=Authorization: Bearer t\n  header=X-A: b\nftp://me:pw@b.test/y\n"
        ),
        (
            "list-other",
            "magnet:?xt=urn:btih:aaa\nhttps://a.test/x\n  seed-ratio=1\n  pause=true\n  check-certificate=false\n  continue=true\n"
        ),
        ("list-endless", "https://a.test/x\n  max-tries=0\n  load-cookies=c.txt\n  on-download-complete=run\n"),
        ("list-gid", "https://a.test/x\n  gid=2089b05ecca3d829\n  user-agent=me/1\n  referer=https://a.test/\n"),
        ("list-odd", "  out=early\nhttps://a.test/a b\n  out=sub/c d\n  noequals\n"),
    ]

    private static func metalink(_ body: String) -> String {
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">\n\(body)\n</metalink>\n"
    }

    private static let metalinks: [(name: String, text: String)] = [
        ("metalink-simple", metalink("<file name=\"a.iso\"><url>https://a.test/a.iso</url></file>")),
        (
            "metalink-whole",
            metalink(
                """
                  <published>2009-05-15T12:23:23Z</published>
                  <file name="dir/example.ext">
                    <size>14471447</size>
                    <description>A &amp; B &#x263A;</description>
                    <hash type="sha-1">\(String(sum.prefix(40)))</hash>
                    <hash type="sha-256">\(sum)</hash>
                    <pieces length="1048576" type="sha-1"><hash>aa</hash><hash>bb</hash></pieces>
                    <url location="de" priority="2">ftp://ftp.example.com/example.ext</url>
                    <url location="fr" priority="1">http://example.com/example.ext</url>
                    <metaurl mediatype="torrent">http://example.com/example.ext.torrent</metaurl>
                  </file>
                """)
        ),
        (
            "metalink-several",
            metalink(
                "<file name=\"a\"><url>https://a.test/a</url></file>\n<file name=\"b\"><url>https://a.test/b</url></file>"
            )
        ),
        (
            "metalink-unsafe",
            metalink(
                "<file name=\"../a\"><url>https://a.test/a</url></file>\n<file name=\"/b\"><url>https://a.test/b</url></file>\n<file name=\"c\"><url>https://a.test/c</url></file>"
            )
        ),
        (
            "metalink-nowhere",
            metalink(
                "<file name=\"a\"></file>\n<file name=\"b\"><url>rsync://a.test/b</url><url>https://a.test/b</url></file>"
            )
        ),
        (
            "metalink-hashes",
            metalink(
                "<file name=\"a\"><hash type=\"whirlpool\">00</hash><hash type=\"md5\">zz</hash><url>https://a.test/a</url></file>"
            )
        ),
        (
            "metalink-prefix",
            "<m:metalink xmlns:m=\"urn:ietf:params:xml:ns:metalink\"><m:file name=\"a\"><m:url>https://a.test/a</m:url></m:file></m:metalink>"
        ),
        (
            "metalink-cdata",
            metalink("<!-- one -->\n<file name='a'><url><![CDATA[https://a.test/a?x=1&y=2]]></url></file>")
        ),
        (
            "metalink-broken",
            metalink(
                "<file name=\"a\"><url>https://a.test/a</url></file>\n<file name=\"b\"><url>https://a.test/b</file>")
        ),
        (
            "metalink-signed",
            metalink(
                "<file name=\"a\"><size>x</size><signature mediatype=\"application/pgp-signature\">---</signature><url priority=\"0\">https://a.test/a</url></file>"
            )
        ),
    ]

    // MARK: Options

    /// A value that an option takes.
    static func value(of option: String) -> String {
        switch option {
        case "url": "https://b.test/"
        case "request", "method": "DELETE"
        case "header", "proxy-header": "X-A: b"
        case "form", "form-string", "data-urlencode", "url-query", "cookie": "a=b"
        case "json": "{}"
        case "user", "proxy-user", "cert": "me:pw"
        case "aws-sigv4": "aws:amz:eu:s3"
        case "resolve": "a.test:443:127.0.0.1"
        case "connect-to": "a.test:443:b.test:443"
        case "pinnedpubkey": "sha256//" + String(repeating: "A", count: 43) + "="
        case "tls-max": "1.3"
        case "rate": "2/s"
        case "limit-rate", "max-filesize", "quota": "10K"
        case "continue-at": "-"
        case "create-file-mode": "0600"
        case "proxy": "http://p.test:3128"
        case "socks4", "socks4a", "socks5", "socks5-hostname": "p.test:1080"
        case "retry-on-http-error": "503"
        case "compression": "auto"
        case "time-cond": "file"
        default: "5"
        }
    }

    /// Options that say something only beside others, or nothing where it is said already.
    static let neutral: Set<String> = [
        "remote-header-name", "output-dir", "create-file-mode", "no-clobber", "globoff", "basic", "digest", "ntlm",
        "negotiate", "anyauth", "aws-sigv4", "proxy-basic", "proxy-digest", "proxy-ntlm", "proxy-negotiate",
        "proxy-anyauth", "key", "pass", "tlsv1", "tlsv1.2", "get", "next", "base",
        "password", "http-password", "ftp-password", "ask-password", "auth-no-challenge", "private-key",
        "keep-session-cookies", "max-redirs", "retry-all-errors", "fail", "fail-with-body", "post301", "post302",
        "post303",
    ]

    /// Parts of every format, for texts made at random.
    static let fragments = [
        "curl ", "wget ", "https://a.test/x", " -o ", "-O", " -u me:pw", "\n", " \\\n", "'", "\"", "`", "$", "${", "}",
        "$(",
        ")", "X=1\n", "$X", "<<EOF\n", "EOF\n", " | ", " && ", "; ", "#", " -H ", "A: b", "{a,b}", "[1-3]", "#1",
        "--next ",
        "url = ", "output = \"", "\\", "\t", "  out=", "checksum=sha-256=", "<metalink>", "<file name=\"a\">", "<url>",
        "</url>", "</file>", "</metalink>", "&amp;", "&", "<!--", "-->", "<![CDATA[", "]]>", "é", "\u{0}", "\r\n",
        "\u{2028}",
        " -F f=@x;type=", " -d @-", " -G", "file:///x", "data:,x", "http://[::1]/", " -i ", "~/", "for x in ", " do ",
        "done", "if ", "! ", "; then ", " else ", "fi\n", " | jq -r .a", " | grep -o 'a'",
        " | sed -n 's/.*\\(a\\).*/\\1/p'",
        "$(basename ", "$(curl ", "echo x | ", "cd d\n", "f() ", "{ ", " -F f=@", " -H \"$X\"", " -T ", "  12  ",
        "\n  13  ",
        "{\"password\": \"",
        " -d x", " & ", "wait\n", "sleep 1\n", "umask 077\n", "break; ", " || ", "{1..3}", "then ", "esac ",
        "https://u:p@h/", " | tar x",
    ]
}
