import HTTPRules
import Planning
import Testing
import TransferModel

/// What a task begins with, by what the disk says of it.
@Suite struct TaskOutlookTests {
    private let now = WallTime(nanoseconds: 1_800_000_000_000_000_000)
    private let stamp = FileStamp(size: 100, modifiedNanoseconds: 1_700_000_000_123_456_789)

    private func task(
        _ type: TaskType = .download, _ url: String = "https://example.org/a",
        _ change: (inout TaskOptions.Values) -> Void = { _ in }
    ) throws -> TaskSpecification {
        var values = TaskOptions.Values(policies: TransferPolicies())
        change(&values)
        return TaskSpecification(
            id: "a", type: type, session: SessionIndex(raw: 0), location: .url(try ResourceURL.parse(url)),
            destination: type == .download ? "/srv/a" : nil, line: 1, options: TaskOptions(values))
    }

    private func facts(_ change: (inout DiskFacts) -> Void) -> DiskFacts {
        var facts = DiskFacts()
        change(&facts)
        return facts
    }

    private func kept(_ options: TaskOptions.Values, _ file: FileStamp) -> KeptValidators {
        KeptValidators(
            url: "https://example.org/a", etag: "\"v\"", lastModified: nil, shape: Revalidation.shape(of: options),
            file: file)
    }

    @Test func nothingThere_isFetchedWhole() throws {
        let task = try task { $0.sizeHint = 500 }
        let outlook = TaskOutlook.of(task, facts { $0.standing = .nothing }, now: now)
        #expect(outlook.action == .fetch && outlook.bytesToMove == 500 && outlook.sizeSource == .sizeHint)
        let unknown = TaskOutlook.of(try self.task(), facts { $0.standing = .nothing }, now: now)
        #expect(unknown.bytesToMove == nil)
    }

    @Test func statedSize_comesBeforeTheHint() throws {
        let task = try task {
            $0.sizeHint = 500
            $0.expect.size = 400
        }
        #expect(TaskOutlook.of(task, facts { $0.standing = .nothing }, now: now).size == 400)
    }

    @Test func partialFile_movesTheRest() throws {
        let facts = facts {
            $0.standing = .nothing
            ($0.partial, $0.partialTotal) = (60, 100)
        }
        let outlook = TaskOutlook.of(try task(), facts, now: now)
        #expect(outlook.action == .resume && outlook.bytesKept == 60 && outlook.bytesToMove == 40)
    }

    @Test func fileAsItWasFetched_isAskedAbout() throws {
        let task = try task()
        let same = facts {
            $0.standing = .file(stamp)
            $0.kept = kept(task.options.values, stamp)
        }
        let outlook = TaskOutlook.of(task, same, now: now)
        #expect(outlook.action == .revalidate && outlook.bytesToMove == 0 && outlook.bytesThere == 100)
        // Another time of change here: another file, whatever the server has.
        let touched = facts {
            $0.standing = .file(FileStamp(size: 100, modifiedNanoseconds: 5))
            $0.kept = kept(task.options.values, stamp)
        }
        #expect(TaskOutlook.of(task, touched, now: now).action == .fetch)
    }

    @Test func otherExpectationsThanWhenItWasFetched_fetchItAnew() throws {
        let before = try task()
        let task = try task { $0.expect.mimeType = "text/plain" }
        let facts = facts {
            $0.standing = .file(stamp)
            $0.kept = kept(before.options.values, stamp)
        }
        let outlook = TaskOutlook.of(task, facts, now: now)
        #expect(outlook.action == .fetch && outlook.why?.contains("another way") == true)
    }

    @Test func fileWithAServersTime_isAskedAboutByDate() throws {
        let whole = FileStamp(size: 100, modifiedNanoseconds: 1_700_000_000_000_000_000)
        let outlook = TaskOutlook.of(try task(), facts { $0.standing = .file(whole) }, now: now)
        #expect(outlook.action == .revalidate && outlook.why == "by the file's own date")
        #expect(TaskOutlook.of(try task(), facts { $0.standing = .file(stamp) }, now: now).action == .fetch)
    }

    @Test(
        arguments: [(.met, .keep), (.missed, .fetch), (.notComputed, .verify)]
            as [(DiskFacts.ChecksumProof, TaskOutlook.Action)])
    func literalChecksum_decides(_ proof: DiskFacts.ChecksumProof, _ action: TaskOutlook.Action) throws {
        let checksum = Checksum(algorithm: .md5, bytes: [UInt8](repeating: 1, count: 16))
        let task = try task { $0.checksum = .literal(checksum) }
        let facts = facts {
            $0.standing = .file(stamp)
            $0.proof = proof
        }
        #expect(TaskOutlook.of(task, facts, now: now).action == action)
    }

    @Test(
        arguments: [(.skip, .keep), (.fail, .refuse), (.replace, .fetch)]
            as [(ExistingPolicy, TaskOutlook.Action)])
    func existing_decidesAboutAFileThatIsThere(_ policy: ExistingPolicy, _ action: TaskOutlook.Action) throws {
        let task = try task { $0.existing = policy }
        #expect(TaskOutlook.of(task, facts { $0.standing = .file(stamp) }, now: now).action == action)
        #expect(TaskOutlook.of(task, facts { $0.standing = .nothing }, now: now).action == .fetch)
    }

    @Test func folderInTheWay_fails() throws {
        #expect(TaskOutlook.of(try task(), facts { $0.standing = .noFile }, now: now).action == .refuse)
    }

    private func cached(_ control: String) -> StoredResponse {
        let time = WallTime(nanoseconds: now.nanoseconds - 10_000_000_000)
        return StoredResponse(
            url: "https://example.org/a", status: 200,
            headers: HeaderBlock([("Cache-Control", control), ("ETag", "\"v\"")]),
            selecting: SelectingHeaders(fields: []), credentials: .absent, requestTime: time, responseTime: time,
            bodyLength: 7)
    }

    @Test func cachedResponse_isUsedWhileItIsFresh() throws {
        let task = try task(.data)
        #expect(TaskOutlook.of(task, facts { $0.cached = [cached("max-age=60")] }, now: now).action == .cache)
        #expect(TaskOutlook.of(task, facts { $0.cached = [cached("max-age=5")] }, now: now).action == .validateCache)
        let reload = try self.task(.data) { $0.policies.cachePolicy = .reloadIgnoringCacheData }
        #expect(TaskOutlook.of(reload, facts { $0.cached = [cached("max-age=60")] }, now: now).action == .fetch)
    }

    @Test func cachedResponseWithoutLifetime_isAskedAbout() throws {
        let time = WallTime(nanoseconds: now.nanoseconds - 10_000_000_000)
        let old = StoredResponse(
            url: "https://example.org/a", status: 200,
            headers: HeaderBlock([("Last-Modified", "Wed, 01 Jan 2020 12:00:00 GMT")]),
            selecting: SelectingHeaders(fields: []), credentials: .absent, requestTime: time, responseTime: time,
            bodyLength: 7)
        let task = try task(.data)
        #expect(TaskOutlook.of(task, facts { $0.cached = [old] }, now: now).action == .validateCache)
        let guessed = facts {
            $0.cached = [old]
            $0.guessesLifetime = true
        }
        #expect(TaskOutlook.of(task, guessed, now: now).action == .cache)
    }

    @Test func uploads_sendWhatIsNotThere() throws {
        let put = try task(.upload) {
            $0.method = "PUT"
            $0.ownExisting = .revalidate
        }
        let unsent = TaskOutlook.of(put, facts { $0.bodyLength = 9 }, now: now)
        #expect(unsent.action == .send && unsent.bytesToMove == 9)
        let sent = facts {
            $0.bodyLength = 9
            $0.wasSent = true
        }
        #expect(TaskOutlook.of(put, sent, now: now).action == .sendIfMissing)
        let unfinished = facts { ($0.bodyLength, $0.uploaded) = (9, 4) }
        let resumed = TaskOutlook.of(put, unfinished, now: now)
        #expect(resumed.action == .resumeUpload && resumed.bytesToMove == 5)
    }

    @Test func localSourcesAskNoServer() throws {
        let outlook = TaskOutlook.of(try task(.download, "file:///etc/hosts"), facts { _ in }, now: now)
        #expect(outlook.action == .local && !outlook.asksServer)
    }
}
