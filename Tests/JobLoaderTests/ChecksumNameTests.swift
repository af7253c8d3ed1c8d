import JobLoader
import Testing
import TransferModel

/// `checksum: { from: TASK }`: whoever says it, every task that it is said for means the same one.
struct ChecksumNameTests {
    private func sources(_ job: Job) -> [TaskIndex?] {
        job.tasks.map { task in
            guard case .task(let index, _)? = task.options.values.checksum else { return nil }
            return index
        }
    }

    @Test(arguments: [
        // One map, read once for all values.
        """
        tasks:
          - { id: "a${n}", forEach: { n: [1, 2] }, needs: [sums], url: "https://a.test/${n}", to: "${n}", checksum: { from: sums } }
          - { id: sums, url: "https://a.test/sums", to: sums }
        """,
        """
        defaults: { checksum: { from: sums } }
        tasks:
          - { id: a1, needs: [sums], url: "https://a.test/1", to: "1" }
          - { id: a2, needs: [sums], url: "https://a.test/2", to: "2" }
          - { id: sums, url: "https://a.test/sums", to: sums, checksum: null }
        """,
    ]) func tasksThatShareTheirOptionsShareIt(_ text: String) throws {
        let result = load(text)
        #expect(result.summary == [], "\(result.messages)")
        let job = try #require(result.job)
        let sums = TaskIndex(raw: 2)
        #expect(sources(job) == [sums, sums, nil])
        #expect(job.tasks[0].options === job.tasks[1].options)
        // And where a part of the job is carried alone.
        #expect(sources(job.keeping([false, true, true])) == [TaskIndex(raw: 1), nil])
    }

    /// Whoever takes a default away, writes another or is no download reads nothing.
    @Test func aDefaultCountsForWhomItIs() throws {
        let result = load(
            """
            defaults: { checksum: { from: sums } }
            tasks:
              - { id: page, url: "https://a.test/page" }
              - { id: own, url: "https://a.test/own", to: own, checksum: "md5:900150983cd24fb0d6963f7d28e17f72" }
              - { id: sums, url: "https://a.test/sums", to: sums, checksum: null }
              - { id: a, needs: [sums], url: "https://a.test/a", to: a }
            """)
        #expect(result.summary == [], "\(result.messages)")
        let job = try #require(result.job)
        #expect(sources(job) == [nil, nil, nil, TaskIndex(raw: 2)])
        #expect(job.tasks[0].options.values.checksum == nil)
        #expect(sources(job.keeping([true, true, false, false])) == [nil, nil])
    }

    @Test func aDefaultThatNamesNoTaskIsAnErrorForNobodyToo() {
        let result = load(
            """
            sessions: { default: {}, other: {} }
            defaults: { checksum: { from: nobody } }
            tasks:
              - { id: a, url: "https://a.test/a" }
            """)
        #expect(result.summary == ["2:31 unknown-task"], "\(result.messages)")
    }

    @Test func eachTaskIsToldAtItsPlace() {
        let result = load(
            """
            defaults: { checksum: { from: sums } }
            tasks:
              - { id: sums, url: "https://a.test/sums", to: sums }
              - { id: a, url: "https://a.test/a", to: a }
              - { id: b, url: "https://a.test/b", to: b, needs: [sums] }
              - { id: "c${n}", forEach: { n: 1..3 }, url: "https://a.test/${n}", to: "${n}", checksum: { from: sums } }
            """)
        #expect(result.summary == ["3:5 needs-cycle", "4:5 missing-need", "6:100 missing-need"], "\(result.summary)")
    }
}
