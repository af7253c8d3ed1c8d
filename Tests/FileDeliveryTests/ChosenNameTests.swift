import FileDelivery
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// A name that a server chose replaces the task's own file, and no other.
@Suite(.serialized) struct ChosenNameTests {
    private let tree: TemporaryTree
    init() throws { tree = try TemporaryTree("chosen") }

    /// Publishes as a run of its own, which has put nothing there before.
    private func publish(
        _ text: String, _ chosen: ChosenName = ChosenName(), _ change: (inout Destination) -> Void = { _ in }
    ) throws -> Result<FileRecord, TransferError> {
        let desk = try Desk()
        defer { desk.finish() }
        return try desk.publish([bytes(text)], to: tree.path("f")) { destination in
            destination.chosenName = chosen
            destination.isStamped = true
            change(&destination)
        }
    }

    private func name(_ result: Result<FileRecord, TransferError>) -> ErrorName? {
        if case .failure(let error) = result { error.name } else { nil }
    }

    @Test func freeName_isTaken_andAnotherFileStays() throws {
        #expect(try publish("one").get().changed)
        #expect(try name(publish("two")) == .nameTaken)
        #expect(try tree.text("f") == "one" && tree.list() == ["f"])
    }

    @Test func ownFile_isReplaced_byItsStampOrItsBytes() throws {
        let first = try publish("one").get()
        let stamp = try #require(first.stamp)
        #expect(try publish("two", ChosenName(own: stamp)).get().changed)
        #expect(try tree.text("f") == "two")
        // A copy: another file with the same bytes.
        let second = try publish("six", ChosenName(own: stamp), { $0.existing = .replace }).get()
        tree.remove("f")
        try tree.write("f", "six")
        let own = try #require(second.stamp)
        #expect(try name(publish("ten", ChosenName(own: own))) == .nameTaken)
        let checksum = try #require(second.checksum)
        #expect(try publish("ten", ChosenName(own: own, checksum: checksum)).get().changed)
        try tree.write("f", "odd")
        #expect(try name(publish("ten", ChosenName(own: own, checksum: checksum))) == .nameTaken)
    }

    /// After a power cut, say.
    @Test func ownFile_thatIsDamaged_isReplaced() throws {
        let own = try #require(try publish("whole").get().stamp)
        #expect(truncate(tree.path("f"), 2) == 0)
        #expect(try publish("whole", ChosenName(own: own)).get().changed)
        #expect(try tree.text("f") == "whole")
    }

    @Test func sameBytes_stay_andMakeNoFileOfTheTasks() throws {
        try tree.write("f", "same")
        let before = try FileFacts.of(tree.path("f"))
        let record = try publish("same").get()
        #expect(!record.changed && record.stamp == nil && record.bytes == 4)
        #expect(try FileFacts.of(tree.path("f")).isSameFile(as: before))
    }

    @Test func replace_allowsAnyFile_andALinkIsNotFollowed() throws {
        try tree.write("outside", "secret")
        try tree.link("f", to: "outside")
        #expect(try name(publish("secret")) == .nameTaken)
        #expect(try publish("new", ChosenName(), { $0.existing = .replace }).get().changed)
        #expect(try tree.text("outside") == "secret" && tree.text("f") == "new")
    }

    @Test func sameTaskOfARun_replacesWhatItPutThere() throws {
        let desk = try Desk()
        for text in ["one", "two"] {
            _ = try desk.publish([bytes(text)], to: tree.path("f")) { $0.chosenName = ChosenName() }.get()
        }
        #expect(try tree.text("f") == "two")
    }

    @Test func memberOfAGroup_followsTheSameRule() throws {
        try tree.write("site/f", "mine")
        let place = GroupPlace(index: GroupIndex(raw: 0), folder: tree.path("site"))
        let desk = try Desk()
        let failed = try desk.failure([bytes("theirs")], to: tree.path("site/f")) {
            ($0.group, $0.chosenName) = (place, ChosenName())
        }
        #expect(failed == .nameTaken)
    }

    @Test func placesThatTheJobUses_areForTasksThatNameThem() throws {
        let file = Job.Reserved(path: tree.path("f"), what: "what the job reads as `file`", mayBeNamed: true)
        let places = ReservedPlaces([file, Job.Reserved(path: tree.path("report"), what: "the report")])
        #expect(places.what(at: tree.path("f")) == nil)
        #expect(places.what(at: tree.path("f"), isNamed: false) == file.what)
        for isNamed in [true, false] {
            #expect(places.what(at: tree.path("report"), isNamed: isNamed) == "the report")
        }
        #expect(places.first(in: tree.path)?.what == "the report")
    }
}
