import Diagnostics
import Testing

@Suite struct RendererTests {
    private let source = SourceText(
        name: "jobs.yaml", bytes: Array("version: 1\nsessions:\n  a:\n    maxConnections: 4\n".utf8))

    private var unknownKey: Diagnostic {
        Diagnostic(
            severity: .error, code: "unknown-key", message: "unknown key `maxConnections` in a session",
            hint: "did you mean `maximumConnectionsPerHost`?", source: source,
            span: SourceSpan(line: 4, column: 5, length: 14))
    }

    @Test func showsTheLineWithCaretsAndTheHint() {
        let expected = """
            jobs.yaml:4:5: error: unknown key `maxConnections` in a session [unknown-key]
                4 |     maxConnections: 4
                  |     ^^^^^^^^^^^^^^
                  = hint: did you mean `maximumConnectionsPerHost`?

            """
        #expect(DiagnosticRenderer.text([unknownKey], color: false) == expected)
    }

    @Test func coloursOnlyWhenAskedTo() {
        let colored = DiagnosticRenderer.text([unknownKey], color: true)
        #expect(colored.contains("\u{1B}[1;31merror:\u{1B}[0m"))
        let plain = colored.replacing(/\u{1B}\[[0-9;]*m/, with: "")
        #expect(plain == DiagnosticRenderer.text([unknownKey], color: false))
    }

    @Test func saysWhatHasNoPlace() {
        let item = Diagnostic(severity: .warning, code: "slow", message: "this will take long", hint: "wait")
        #expect(
            DiagnosticRenderer.text([item], color: false)
                == "warning: this will take long [slow]\n      = hint: wait\n")
        let inFile = Diagnostic(severity: .error, code: "file-too-large", message: "too large", source: source)
        #expect(DiagnosticRenderer.text([inFile], color: false) == "jobs.yaml: error: too large [file-too-large]\n")
    }

    @Test func writesJSONWithNullForWhatIsUnknown() {
        let bare = Diagnostic(severity: .warning, code: "slow", message: "say \"no\"")
        #expect(
            String(decoding: DiagnosticRenderer.json([unknownKey, bare]), as: UTF8.self) == #"{"diagnostics":["#
                + #"{"severity":"error","code":"unknown-key","message":"unknown key `maxConnections` in a session","#
                + #""hint":"did you mean `maximumConnectionsPerHost`?","file":"jobs.yaml","line":4,"column":5,"#
                + #""endLine":4,"endColumn":19},{"severity":"warning","code":"slow","message":"say \"no\"","#
                + #""hint":null,"file":null,"line":null,"column":null,"endLine":null,"endColumn":null}]}"#)
        #expect(DiagnosticRenderer.json([]) == Array(#"{"diagnostics":[]}"#.utf8))
    }

    @Test func noTextCanStartACommandOfGitHub() {
        let evil = SourceText(name: "a,b:c%.yaml", bytes: [])
        let item = Diagnostic(
            severity: .error, code: "x", message: "50%\n::error::pwned\r", hint: "a: b, c", source: evil,
            span: SourceSpan(line: 1, column: 2))
        #expect(
            DiagnosticRenderer.github([item])
                == "::error file=a%2Cb%3Ac%25.yaml,line=1,col=2,endLine=1,endColumn=3,title=x"
                + "::50%25%0A::error::pwned%0D%0Ahint: a: b, c\n")
    }

    @Test func GitHubGetsNoColumnsOfSeveralLines() {
        let item = Diagnostic(
            severity: .warning, code: "x", message: "m", source: source,
            span: SourceSpan(line: 1, column: 2, endLine: 3, endColumn: 1))
        #expect(DiagnosticRenderer.github([item]) == "::warning file=jobs.yaml,line=1,endLine=2,title=x::m\n")
    }
}
