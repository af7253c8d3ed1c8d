import JobImport
import Testing

/// What of a script is read again: the calls of functions, the turns of loops that use parts of their values, and arrays.
struct ShellReplayTests {
    private static func expect(_ script: String, _ parts: [String], without absent: [String] = [], count: Int? = nil) {
        let result = JobImportTests.translated("#!/bin/bash\n" + script + "\n")
        for part in parts { #expect(result.text.contains(part), "\(part)\n\(result.text)") }
        for part in absent { #expect(!result.text.contains(part), "\(part)\n\(result.text)") }
        if let count { #expect(result.taskCount == count, "\(result.text)") }
        #expect(JobImportTests.problems(result.text) == [], "\(result.text)")
    }

    // MARK: Functions

    @Test(arguments: [
        "download() { curl -sSL -o \"$2\" \"$1\"; }\ndownload https://a.test/1 x\ndownload https://a.test/2 y",
        "download() {\n  local url=\"$1\" out=\"${2}\"\n  echo \"$url\"\n  curl -sSL -o \"$out\" \"$url\"\n}\ndownload https://a.test/1 x\ndownload https://a.test/2 y",
        "function get() { curl \"$@\"; }\nget -o x https://a.test/1 && get -o y https://a.test/2",
        "one() { curl -o $1 $2; }\ntwo() { one \"$1\" \"$2\"; }\ntwo x https://a.test/1; two y https://a.test/2",
        "B=https://a.test\nget() { curl -fo \"$2\" \"$B/$1\" || { echo no; exit 1; }; }\nget 1 x\nget 2 y",
        "get() { wget -qO \"${2:-x}\" \"$1\"; }\nget https://a.test/1\nget https://a.test/2 y",
    ])
    func functionWithArguments_isReadAtItsCalls(_ script: String) {
        Self.expect(
            script, ["to: x", "to: \"y\"", "/1\"", "/2\""], without: ["was left out", "is not translated"], count: 2)
    }

    @Test func callOfAFunction_keepsWhatIsAroundIt() {
        Self.expect(
            "get() { curl -fo \"$2\" \"$1\"; }\nif get https://a.test/1 x; then curl -o z https://a.test/3; fi",
            ["when: succeeded", "to: x"], count: 2)
        Self.expect(
            "get() { echo \"$1\" >&2; curl -f \"$1\"; }\nget https://a.test/1 > x\nget https://a.test/2 | tar x",
            ["the pipe into `tar`"],
            without: ["https://a.test/2"])
        Self.expect(
            "get() { local V=2; curl -o x https://a.test/$V/$1; }\nV=1\nget a\ncurl -o y https://a.test/v$V",
            ["https://a.test/2/a", "https://a.test/v1"], count: 2)
        Self.expect(
            "get() { V=$1; curl -o x https://a.test/$V; }\n[ -f z ] && get a\ncurl -o y https://a.test/v$V",
            ["left out"],
            without: ["https://a.test/v"])
        Self.expect(
            "get() { curl -o \"$1\" https://a.test/$1; }\nfor n in a b; do get $n; done", ["https://a.test/${n}"])
    }

    @Test func functionInASubstitution_isReadThere() {
        Self.expect(
            """
            B=https://a.test
            api() { curl -s -H "X-Api-Key: $KEY" "$B$1"; }
            T=$(api /l | jq -r .token)
            V=$(api /v)
            curl -H "Authorization: Bearer $T" -d "$V" -o x https://a.test/1
            """,
            ["capture: { T: { json: \"$.token\"", "url: \"${B}/l\"", "Bearer ${tasks.l.T}", "data: \"${tasks.v.V}\""],
            without: ["was left out"], count: 3)
    }

    @Test(arguments: [
        "get() { curl -o x https://b.test/$1 || return 1; }\nget a",
        "get() { for n in 1 2; do curl https://b.test/$1$n; done; }\nget a",
        "get() { shift; curl https://b.test/$1; }\nget a b", "get() { curl https://b.test/$1; }\nget $(name)",
        "get() { curl https://b.test/$1; }",
    ])
    func otherFunction_isLeftOut(_ script: String) {
        Self.expect("curl -O https://a.test/w\n\(script)", ["left out"], without: ["https://b.test"], count: 1)
    }

    @Test func argumentThatIsACredential_isNotWritten() {
        Self.expect(
            "get() { curl -u \"me:$2\" -o x \"$1\"; }\nP=hunter2\nget https://a.test/1 $P\nget https://a.test/2 hunter2",
            ["secret."], without: ["hunter2"], count: 2)
    }

    // MARK: Loops

    @Test(arguments: [
        (
            "for f in a.txt b.txt; do curl -o \"${f%.txt}.out\" https://a.test/$f; done",
            ["to: a.out", "https://a.test/b.txt"]
        ),
        ("for f in a.txt b.txt; do curl -o $(basename \"$f\" .txt) https://a.test/$f; done", ["to: a\n", "to: b\n"]),
        (
            "for u in https://a.test/1/x https://a.test/2/y; do curl -o \"${u##*/}\" \"$u\"; done",
            ["to: x", "https://a.test/2/y"]
        ),
        ("L='a.b c.b'\nfor f in $L; do curl -o ${f/.b/_z} https://a.test/$f; done", ["to: a_z", "to: c_z"]),
        ("for f in {1..2}.t; do\n  N=${f%%.*}\n  curl -o $N https://a.test/$f\ndone", ["to: \"1\"", "to: \"2\""]),
    ])
    func loopWithPartsOfItsValues_isATaskForEach(_ script: String, _ parts: [String]) {
        Self.expect(script, parts, without: ["was left out", "forEach"], count: 2)
    }

    @Test(arguments: [
        "for f in a.t b.t; do [ -f x ] || break; curl -o ${f%.t} https://b.test/$f; done",
        "for f in *.t; do curl -o ${f%.t} https://b.test/$f; done",
        "for f in $L; do curl -o ${f%.t} https://b.test/$f; done",
        "for f in a.t b.t; do curl -o ${f%[st]} https://b.test/$f; done",
        "for token in a.t b.t; do curl -o ${token%.t} https://b.test/$token; done",
    ])
    func otherLoopWithParts_isLeftOut(_ script: String) {
        Self.expect("curl -O https://a.test/w\n\(script)", ["left out"], without: ["https://b.test"], count: 1)
    }

    @Test(arguments: [
        ("for ((i=1;i<=3;i++)); do curl -o $i https://a.test/$i; done", "forEach: { i: 1..3 }"),
        ("N=3\nfor (( i = 0; i < $N; ++i )); do curl -o $i https://a.test/$i; done", "forEach: { i: 0..2 }"),
        ("for i in $(seq -w 9 11); do curl -o $i https://a.test/$i; done", "forEach: { i: [\"09\", \"10\", \"11\"] }"),
        ("for i in $(seq 1 2 5); do curl -o $i https://a.test/$i; done", "forEach: { i: [\"1\", \"3\", \"5\"] }"),
        (
            "F=(a b 'c d')\nfor f in \"${F[@]}\"; do curl -o \"$f\" https://a.test/; done",
            "forEach: { f: [a, b, \"c d\"] }"
        ),
        ("F=(a)\nF+=(b)\nfor f in ${F[@]}; do curl -o \"$f\" https://a.test/; done", "forEach: { f: [a, b] }"),
    ])
    func loopOverNumbersOrAnArray_isForEach(_ script: String, _ part: String) {
        Self.expect(script, [part], without: ["was left out"])
    }

    // MARK: Words

    @Test(arguments: [
        ("A=(-H 'X-A: b c' -o x)\ncurl \"${A[@]}\" https://a.test/1", "headers: { X-A: \"b c\" }"),
        ("A=(p q)\ncurl -o \"${A[1]}\" https://a.test/1", "to: q"),
        ("CURL=\"curl -sS -o x\"\n$CURL https://a.test/1", "to: x"),
        ("C=/usr/bin/curl\n\"$C\" -o x https://a.test/1", "to: x"),
        ("U=https://a.test/d/x.tgz\ncurl -o \"${U##*/}\" \"$U\"", "to: x.tgz"),
        ("F=x.txt\ncurl -o ${F%.txt} https://a.test/1", "to: x\n"),
        ("V=v1.2\ncurl -o ${V#v} https://a.test/1", "to: \"1.2\""),
        ("V=a.b.c\ncurl -o ${V//./-} https://a.test/1", "to: a-b-c"),
    ])
    func partOfAKnownText_isKnown(_ script: String, _ part: String) {
        Self.expect(script, [part], without: ["was left out"])
    }

    @Test func partOfACredential_isNotWritten() {
        Self.expect(
            "T=hunter2.x\ncurl -u \"me:$T\" https://a.test/1\ncurl -d \"x=${T%.x}\" https://b.test/", ["left out"],
            without: ["hunter2", "https://b.test"])
    }

    @Test func arrayThatIsNotKnown_isNamed() {
        Self.expect("F=(*.t)\nfor f in \"${F[@]}\"; do curl -T \"$f\" https://b.test/; done", ["arrays are not read"])
    }
}

/// Values that a script takes out of an answer in two steps.
struct AnswerPartTests {
    @Test(arguments: [
        "R=$(curl -s https://a.test/l)\nT=$(echo \"$R\" | jq -r .token)",
        "R=$(curl -s https://a.test/l)\nT=$(jq -r .token <<< \"$R\")",
        "R=$(curl -s https://a.test/l)\nT=$(printf '%s' \"$R\" | jq -r '.token // empty')",
        "T=$(curl -s https://a.test/l | jq -r '.token // empty')",
    ])
    func valueOfAnAnswer_isCaptured(_ script: String) {
        let result = JobImportTests.translated(
            "#!/bin/bash\n\(script)\n[ -n \"$T\" ] || exit 1\ncurl -H \"Authorization: Bearer $T\" -O https://a.test/x\n"
        )
        #expect(
            result.text.contains("capture: { T: { json: \"$.token\", secret: true, hosts: [a.test] } }"),
            "\(result.text)")
        #expect(result.text.contains("Bearer ${tasks.l.T}") && !result.text.contains("(?s)"), "\(result.text)")
        #expect(result.taskCount == 2 && result.warnings.isEmpty, "\(result)")
        #expect(JobImportTests.problems(result.text) == [], "\(result.text)")
    }

    @Test func severalPartsAndTheWhole_areCapturedOnce() {
        let result = JobImportTests.translated(
            """
            #!/bin/bash
            R=$(curl -s https://a.test/l)
            A=$(echo "$R" | jq -r .a)
            B=$(echo "$R" | jq -r .b)
            curl -d "$A$B" https://a.test/x
            curl -d "$R" https://a.test/y
            """)
        for name in ["A: {", "B: {", "R: { regex"] { #expect(result.text.contains(name), "\(result.text)") }
        #expect(result.text.contains("${tasks.l.A}${tasks.l.B}") && result.taskCount == 3, "\(result.text)")
        #expect(JobImportTests.problems(result.text) == [], "\(result.text)")
    }

    @Test(arguments: ["T=$(echo \"x$R\" | jq -r .a)", "T=$(echo \"$R\" | sort)", "T=$(echo \"$R\" | jq -r '.a // .b')"])
    func otherPart_isLeftOut(_ line: String) {
        let result = JobImportTests.translated(
            "#!/bin/bash\nR=$(curl -s https://a.test/l)\n\(line)\ncurl -d \"$T\" https://b.test/x\n")
        #expect(!result.text.contains("https://b.test") && !result.warnings.isEmpty, "\(result.text)")
    }
}
