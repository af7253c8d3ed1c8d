import TestSupport
import Testing
import TransferModel

@Suite struct JobAddingTests {
    /// A task by its id, the ids that it needs, and the names of its session and group.
    private struct Line {
        var id: String
        var needs: [String] = []
        var session = "main"
        var group: String?
        var checksums: String?
    }

    private func job(_ lines: [Line], sessions: [String] = ["main"], groups: [String] = []) throws -> Job {
        var job = Job(name: "j", file: "/j.yaml", baseDirectory: "/")
        job.sessions = sessions.map { SessionConfiguration(name: $0) }
        job.groups = groups.map { GroupSpecification(name: $0, to: "/to") }
        func place(_ id: String) throws -> TaskIndex {
            TaskIndex(raw: UInt32(try #require(lines.firstIndex { $0.id == id })))
        }
        job.tasks = try lines.map { line in
            var values = TaskOptions.Values(policies: TransferPolicies())
            values.checksum = try line.checksums.map {
                .task(try place($0), ListedChecksum(algorithm: .sha256, entry: "e"))
            }
            var task = TaskSpecification(
                id: line.id, type: .download,
                session: SessionIndex(raw: UInt16(try #require(sessions.firstIndex(of: line.session)))),
                location: .url(try ResourceURL.parse("http://h/\(line.id)")), destination: "/\(line.id)", line: 1,
                options: TaskOptions(values))
            task.needs = try line.needs.map(place)
            task.group = try line.group.map { GroupIndex(raw: UInt16(try #require(groups.firstIndex(of: $0)))) }
            return task
        }
        return job
    }

    private func lines(_ job: Job) -> [Line] {
        job.tasks.map { task in
            var owner: String?
            if case .task(let place, _)? = task.options.values.checksum { owner = job.tasks[Int(place.raw)].id }
            return Line(
                id: task.id, needs: task.needs.map { job.tasks[Int($0.raw)].id },
                session: job.sessions[Int(task.session.raw)].name,
                group: task.group.map { job.groups[Int($0.raw)].name }, checksums: owner)
        }
    }

    private func texts(_ job: Job) -> [String] { lines(job).map { "\($0)" } }

    @Test func newTasksComeAfterThoseThatWereThere() throws {
        let was = try job(
            [Line(id: "a"), Line(id: "b", needs: ["a"], group: "g"), Line(id: "gone", checksums: "a")], groups: ["g"])
        let today = try job(
            [
                Line(id: "first", needs: ["a", "last"], session: "other", group: "h"),
                Line(id: "b", session: "other"), Line(id: "a", needs: ["b"]),
                Line(id: "sums", needs: ["b"], group: "g", checksums: "first"), Line(id: "last"),
            ], sessions: ["other", "main"], groups: ["h", "g"])
        let result = was.adding(today)
        #expect(
            texts(result) == texts(was)
                + [
                    Line(id: "first", needs: ["a", "last"], session: "other", group: "h"),
                    Line(id: "sums", needs: ["b"], group: "g", checksums: "first"), Line(id: "last"),
                ].map { "\($0)" })
        #expect(result.sessions.map(\.name) == ["main", "other"] && result.groups.map(\.name) == ["g", "h"])
        // Nothing new: nothing changes.
        #expect(texts(result.adding(today)) == texts(result))
        #expect(texts(was.adding(was)) == texts(was))
    }

    @Test func aSessionStaysButForWhatItProvesItselfWith() throws {
        func session(_ number: Int) -> SessionConfiguration {
            var session = SessionConfiguration(name: "main")
            session.maximumConnectionsPerHost = number
            session.tls.minimum = number == 1 ? .v1_2 : .v1_3
            session.tls.clientCertificates = [
                .init(host: HostPattern("h\(number)")!, certificate: "/c\(number)", key: nil, password: nil)
            ]
            session.taskDefaults.timeoutForRequest = .seconds(Int64(number))
            session.taskDefaults.credentials = [Credential(source: .token(SecretText("token-\(number)")))]
            session.taskDefaults.challenges = [ChallengeRule(disposition: number == 1 ? .reject : .cancel)]
            return session
        }
        var (was, today) = (try job([Line(id: "a")]), try job([Line(id: "a")]))
        (was.sessions, today.sessions) = ([session(1)], [session(2)])
        let result = try #require(was.adding(today).sessions.first)
        #expect(result.maximumConnectionsPerHost == 1 && result.tls.minimum == .v1_2)
        #expect(result.taskDefaults.timeoutForRequest == .seconds(1))
        #expect(result.tls.clientCertificates == session(2).tls.clientCertificates)
        #expect(result.taskDefaults.credentials == session(2).taskDefaults.credentials)
        #expect(result.taskDefaults.challenges == session(2).taskDefaults.challenges)
    }

    @Test func theRestIsThatOfTheRun() throws {
        var (was, today) = (try job([Line(id: "a")]), try job([Line(id: "b")]))
        was.limits.maximumConcurrentTasks = 3
        was.report.events = "/events"
        was.onFinish = ["was"]
        was.secrets = [KnownSecret(name: "s", value: "one"), KnownSecret(name: "t", value: "two")]
        today.limits.maximumConcurrentTasks = 9
        today.onFinish = ["today"]
        today.secrets = [KnownSecret(name: "t", value: "two"), KnownSecret(name: "s", value: "three")]
        let result = was.adding(today)
        #expect(result.limits == was.limits && result.report == was.report && result.onFinish == was.onFinish)
        // Of a secret that changed, both values are secret.
        #expect(result.secrets == was.secrets + [KnownSecret(name: "s", value: "three")])
    }

    /// Of any two jobs: what was there is untouched, and what is new points to what it pointed to.
    @Test func everythingPointsToWhatItPointedTo() throws {
        var random = Seeded("everythingPointsToWhatItPointedTo")
        for _ in 0..<Rounds.scaled(200) {
            let (was, today) = (try anyJob(&random), try anyJob(&random))
            let result = was.adding(today)
            let known = Set(was.tasks.map(\.id))
            #expect(texts(result) == texts(was) + lines(today).filter { !known.contains($0.id) }.map { "\($0)" })
            #expect(Set(result.tasks.map(\.id)).count == result.tasks.count)
            #expect(Set(result.sessions.map(\.name)) == Set((was.sessions + today.sessions).map(\.name)))
            #expect(result.sessions.prefix(was.sessions.count).map(\.name) == was.sessions.map(\.name))
        }
    }

    private func anyJob(_ random: inout Seeded) throws -> Job {
        let sessions = some(of: ["main", "s1", "s2", "s3"], &random)
        let groups = some(of: ["g1", "g2", "g3"], &random)
        var lines: [Line] = []
        for id in some(of: (0..<20).map { "t\($0)" }, &random) {
            var line = Line(id: id, session: random.pick(sessions))
            if random.oneIn(2) { line.group = random.pick(groups) }
            for earlier in lines where random.oneIn(4) { line.needs.append(earlier.id) }
            if random.oneIn(4), let owner = lines.last { line.checksums = owner.id }
            lines.append(line)
        }
        return try job(lines, sessions: sessions, groups: groups)
    }

    /// At least one of them, in any order.
    private func some(of values: [String], _ random: inout Seeded) -> [String] {
        var left = values
        return (0...random.below(values.count)).map { _ in left.remove(at: random.below(left.count)) }
    }
}
