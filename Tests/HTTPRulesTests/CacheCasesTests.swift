import Testing

struct CacheCasesTests {
    /// Each name says what is wanted; a failing one says what came instead.
    @Test func everyCaseIsMet() {
        let (line, failures) = CacheCases.all.results()
        print("\(CacheCases.all.count) cases of a private cache: \(line)")
        for (one, failure) in failures { Issue.record("\(one.name): \(failure)") }
    }

    @Test func namesTellCasesApart() {
        let names = CacheCases.all.map(\.name)
        #expect(Set(names).count == names.count)
    }

    /// A case can fail: an origin that forbids keeping is not one whose answer comes again.
    @Test(arguments: [
        ("Cache-Control: no-store", CacheStep.Outcome.cached), ("Cache-Control: max-age=99", .network),
        ("Cache-Control: max-age=99 | ETag: \"a\"", .asksByTag), ("Last-Modified: @-5 | ETag: \"a\"", .asksByDate),
    ])
    func aCaseCanFail(_ answer: String, _ outcome: CacheStep.Outcome) {
        #expect(CacheCases.pair("wrong", .required, answer, outcome).failure() != nil)
    }
}
