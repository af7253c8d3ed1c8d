/// Command lines as manuals and guides show them. `URL` is the server with the line's number, `%%` the number
/// alone.
enum ForeignLines {
    struct Line: Sendable {
        let text: String
        /// Whether `import` leaves the transfer out and says so.
        var isLeftOut = false
    }

    /// Lines that become tasks: what the server sees is the same.
    static let carried: [Line] =
        curl.map { Line(text: $0) } + bodies.map { Line(text: $0) } + wget.map { Line(text: $0) }
        + aria.map { Line(text: $0) } + scripts.map { Line(text: $0) }

    /// Lines that do not: the server sees nothing of them.
    static let leftOut: [Line] = [
        "curl -s -F 'meta=<note.txt' -F 'file=@data.bin' URL/part", "curl -s -F 'files=@note.txt,data.bin' URL/mixed",
        "curl -s -H @headers.txt URL/from-file", "curl -s -H 'Host: other.test' URL/host",
        "curl -s -d a=1 -d @note.txt URL/two", "curl -s --data-urlencode text@note.txt URL/encoded",
        "curl -s --request-target /%%/other URL/target",
        "date | curl -s --data-binary @- URL/date", "curl -s -C 4 -o part.bin URL/part.bin",
        "wget -q -r -l 1 URL/pool/ -P tree", "wget -q -e 'robots=off' URL/robots -O robots",
        "curl -s -z note.txt -o newer URL/newer",
        "[ -e note.txt ] && curl -s -X DELETE URL/guarded", "grep -q note note.txt && curl -s -d a=1 URL/found",
        "[ -e no-file ] || { curl -s URL/group; }", "([ -e note.txt ] || exit 1; curl -s URL/after-exit)",
        "sort note.txt > made-%%; curl -s -T made-%% URL/made", "curl -s URL/log >> log-%%.txt",
        "([ -d folder ] && cd folder; curl -s -T inside.txt URL/moved-to)",
        "(set -e; sha256sum -c sums.txt >/dev/null; curl -s -d a=1 URL/verified)",
        "(set -e; sh -c 'exit 0'; curl -s -d a=1 URL/built)",
        "(D=folder; export D; cd \"$D\"; cd - >/dev/null; curl -s -T note.txt URL/back)",
    ].map { Line(text: $0, isLeftOut: true) }

    private static let curl = [
        "curl URL/index.html", "curl -o page.html URL/page.html", "curl -O URL/image.png", "curl -L URL/moved -o moved",
        "curl -fsSLO URL/app-1.2.3.tar.gz", "curl -sS --create-dirs -o deep/er/file URL/file",
        "curl -s 'URL/{one,two}.txt' -o '#1.txt'", "curl -s 'URL/img[1-3].jpg' -o 'img#1.jpg'",
        "curl -s -r 0-99 -o range URL/range", "curl -s -A 'Mozilla/5.0 (X11; Linux)' URL/agent",
        "curl -s -e http://example.org/from URL/referer", "curl -s --referer ';auto' URL/auto",
        "curl -s -H 'X-Custom: one' -H 'x-custom: two' -H 'Accept-Language: de, en;q=0.5' URL/headers",
        "curl -s -H 'X-Empty;' -H 'X-None:' -H 'Expect:' URL/empty-header",
        "curl -s -H 'User-Agent: mine/1' -A other URL/typed-agent",
        "curl -s -H 'Accept: application/vnd.github+json' URL/accept",
        "curl -s -b 'sid=abc; lang=de' URL/cookie",
        "curl -s -u \"me:$PW\" URL/basic", "curl -s -u 'sk_test_key:' URL/key", "curl -s 'http://me:pw@HOST/%%/in-url'",
        "curl -s -u \"me:$PW\" -H 'Authorization: Bearer typed' URL/both",
        "curl -s --oauth2-bearer \"$TOKEN\" URL/bearer",
        "curl -s -H \"Authorization: Bearer $TOKEN\" URL/authorization", "curl -s -H 'PRIVATE-TOKEN: abc' URL/private",
        "curl -s 'URL/signed?sv=1&sig=a%2Bb%3D%2F'", "curl -s \"URL/bot$BOT/getMe\"",
        "curl -s -G -d q=a --data-urlencode 'name=ä & b' -d z=1 URL/query",
        "curl -s --url-query 'a=b c' 'URL/more?x=1'",
        "curl -s -I URL/head", "curl -s -X DELETE URL/items/7", "curl -s -X POST URL/empty-post",
        "curl -s -X OPTIONS URL/options",
        "curl -s --http1.1 --compressed URL/packed -o packed",
        "curl -s --retry 3 --max-time 20 --connect-timeout 5 URL/retry",
        "curl -s -o /dev/null URL/discarded", "curl -s URL/a -o a1 --next -s -d x=1 URL/b",
        "curl -s URL/spaced%20name URL/second", "curl -s 'URL/path?a=1&b=%20&c=d/e'",
        "curl -s -z fresh -o fresh URL/fresh",
    ]

    private static let bodies = [
        "curl -s -d 'name=daniel&skill=lousy' URL/form", "curl -s -d name=a -d 'skill=b c' URL/forms",
        "curl -s --data-urlencode 'comment=ä b&c=d' --data-urlencode '=plain text' URL/urlencoded",
        "curl -s --data-raw '@not a file' URL/raw", "curl -s -d @lines.txt URL/lines",
        "curl -s --data-binary @lines.txt URL/binary",
        "curl -s --json '{\"a\": [1, \"ü\"]}' URL/json", "curl -s --json @note.json URL/json-file",
        "curl -s -X POST -H 'Content-Type: application/json' -d '{\"user\": \"me\", \"n\": 1.50}' URL/typed",
        "curl -s -X POST -H 'Content-Type: application/json' -d '{\"user\":\"me\",\"password\":\"s3cr et\"}' URL/login",
        "curl -s -X PATCH --data-binary @note.json -H 'Content-Type: application/merge-patch+json' URL/patch",
        "curl -s -X GET -H 'Content-Type: application/json' -d '{\"query\": {\"match_all\": {}}}' URL/_search",
        "curl -s -H 'Content-Type:' -d untyped URL/untyped", "curl -s -T data.bin URL/upload/",
        "curl -s -T data.bin URL/upload/as.bin",
        "curl -s -T '{note.txt,note.json}' URL/each/",
        "curl -s -T note.json -H 'Content-Type: application/json' URL/put",
        "curl -s -X POST -T data.bin URL/post-file", "echo 'from a pipe' | curl -s -T - URL/pipe",
        "echo '{\"text\": \"hi\"}' | curl -s -d @- URL/hook", "cat lines.txt | curl -s --data-binary @- URL/cat",
        "curl -s -d @- URL/heredoc <<EOF\n{ \"who\": \"$WHO\",\n  \"cost\": \"\\$5\" }\nEOF",
        "curl -s -F name=daniel -F 'file=@data.bin' URL/multipart",
        "curl -s -F 'web=@page.html;type=text/html' URL/web",
        "curl -s -F 'file=@note.json' -F 'image=@dot.png' -F 'text=@note.txt' URL/types",
        "curl -s -F 'file=@note.txt;filename=\"other name.md\"' -F 'a= b ; c' URL/names",
        "curl -s -F 'json={\"a\": 1};type=application/json' -F 'quoted=\"semi;colon\"' URL/json-part",
        "curl -s --form-string 'literal=@<;type=x' URL/literal",
    ]

    private static let wget = [
        "wget -q URL/file.iso", "wget -q -O renamed URL/renamed", "wget -q -P folder URL/x.zip URL/y.zip",
        "wget -qO- URL/stdout",
        "wget -q --header='X-A: 1' --header='x-a: 2' --header='Accept: text/html' URL/header -O header",
        "wget -q -U 'Agent/1.0' --referer=http://example.org/ URL/agent -O agent",
        "wget -q --post-data='user=foo&n=1' URL/post -O post",
        "wget -q --post-file=lines.txt URL/post-file -O post-file",
        "wget -q --method=PUT --body-data='{\"a\":1}' --header='Content-Type: application/json' URL/put -O put",
        "wget -q --method=DELETE URL/delete -O deleted", "wget -q --spider URL/spider",
        "wget -q --user=me --password=\"$PW\" --auth-no-challenge URL/basic -O basic", "wget -q 'URL/a b?q=ä' -O blank",
        "wget -q -t 3 -T 20 --tries=2 URL/tries -O tries", "wget -q URL/moved -O target",
        "wget -q -i list-%%.txt -P listed",
    ]

    private static let aria = [
        "aria2c -q URL/a.iso", "aria2c -q -d down -o b.iso -U 'Agent/2' --header='X-B: c' URL/b",
    ]

    private static let scripts = [
        "V%%=$(curl -s URL/latest.json | jq -r .items[0].tag)\ncurl -s -o \"got-%%\" \"URL/get/$V%%?tag=$V%%\"",
        "T%%=$(curl -s -d 'user=me' URL/token | jq -r '.access_token')\ncurl -s -H \"Authorization: Bearer $T%%\" URL/me",
        "S%%=$(curl -s URL/stable.txt)\ncurl -s -O \"URL/$S%%/tool\"",
        "W%%=$(wget -qO- URL/page | grep -o 'v[0-9][0-9.]*' | head -1)\nwget -q \"URL/$W%%.zip\"",
        "N%%=$(curl -s URL/page | sed -n 's/^version: \\(.*\\)$/\\1/p')\ncurl -s -d \"n=$N%%\" URL/next",
        "curl -s -c jar-%% -d a=1 URL/sign-in\ncurl -s -b jar-%% URL/signed-in",
        "for x%% in a b c; do curl -s -o \"x-$x%%\" \"URL/loop/$x%%\"; done",
        "U%%=URL/deep/name.tgz\ncurl -s -o \"$(basename $U%%)\" $U%%",
        "if curl -fs -o new-%% URL/new; then curl -s -T new-%% URL/up; else curl -s URL/not; fi",
        "(cd folder && curl -s -T inside.txt URL/inside)",
        "curl -s -o chain-%% URL/chain\ncurl -s -T chain-%% URL/chained",
        "curl -fs -o and-%% URL/and && curl -s URL/and-then", "mkdir -p made && curl -s URL/mkdir",
        "(curl -fs URL/or || exit 1; curl -s URL/or-after)",
        "curl -s -o twice-%% URL/one; curl -s -T twice-%% URL/put1; curl -s -o twice-%% URL/two; curl -s -T twice-%% URL/put2",
        "curl -s -o again-%% URL/one\ncurl -s -o again-%% URL/two\ncurl -s -F f=@again-%% URL/form\n"
            + "cat again-%% | curl -s -d @- URL/cat\ncurl -s --data-binary @- URL/in < again-%%",
        "for x%% in a b c; do curl -s -o body-%% URL/$x%%; curl -s --data-binary @body-%% URL/post/$x%%; done",
        "curl -fs -o dl-%% URL/lost/404 || curl -fs -o dl-%% URL/B\ncurl -s -T dl-%% URL/store",
        "curl -s URL/sign-in\ncurl -s URL/after-sign-in",
        "curl -s URL/kept -o kept-a-%%\ncurl -s URL/kept -o kept-b-%%",
        "curl -s -d @- URL/quotes <<EOF\n{ \\\"a\\\": \\\\ \\$ }\nEOF",
        "F=@note.txt\ncurl -s -d \"$F\" URL/variable-file",
        "(cd folder; cd ../other/..; curl -s -T folder/inside.txt URL/dots)",
        ": \"${UNSET:=a default}\"\ncurl -s -d \"v=$UNSET\" URL/default",
        "aria2c -q --http-user=me --http-passwd=pw -o aria-%% URL/aria",
    ]
}

extension ForeignLines {
    /// Files that the lines read.
    static let files: [(name: String, text: String)] = [
        ("note.txt", "a note\n"), ("note.json", "{ \"a\": 1,\n  \"b\": 2 }\n"),
        ("lines.txt", "one=1\r\ntwo=2\n\nthree\n"),
        ("sums.txt", "037279912cb60d7be67228853b057cc642443b4ce29b8a5a5bfbb68234b0b962  note.txt\n"),
        ("other/empty", ""),
        ("page.html", "<p>page\n"), ("dot.png", "PNG"), ("headers.txt", "X-From: file\n"),
        ("folder/inside.txt", "inside"),
    ]

    /// What `import` takes out of the lines.
    static let secrets = """
        COOKIE=sid=abc; lang=de
        KEY=sk_test_key
        PASSWORD=pw
        _127_0_0_1_PASSWORD=pw
        _127_0_0_1_PASSWORD_2=s3cr et
        _127_0_0_1_TOKEN=typed
        PRIVATE_TOKEN=abc
        SIG=a%2Bb%3D%2F

        """
}
