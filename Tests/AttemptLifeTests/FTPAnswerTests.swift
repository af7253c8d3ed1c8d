import AttemptLife
import HTTPRules
import TestSupport
import Testing
import TransferModel

struct FTPAnswerTests {
    private let now = WallTime(nanoseconds: 1_795_244_400_000_000_000)

    private func head(
        _ length: Int64?, age: Int64? = 3_600, offset: Int64 = 0, refuses: Bool = false
    ) -> FTPAnswer.Head {
        FTPAnswer.head(
            length: length, modified: age.map { now + .seconds(-$0) }, offset: offset, refusesOffset: refuses, now: now)
    }

    @Test func wholeFiles() {
        #expect(head(10).status == 200 && head(10).headers.first("content-length") == "10")
        #expect(head(nil).headers.first("transfer-encoding") == "chunked")
        #expect(Resuming.validator(head(10).headers) != nil)
        #expect(Resuming.validator(head(10, age: 59).headers) == nil)
        #expect(Resuming.validator(head(10, age: nil).headers) == nil)
        #expect(Resuming.validator(head(nil).headers) == nil)
        #expect(head(10).headers.first("etag") != head(11).headers.first("etag"))
        #expect(head(10).headers.first("etag") != head(10, age: 3_601).headers.first("etag"))
    }

    /// Whatever a server leaves out or says else than before, what is there is never gone on with wrongly.
    @Test func nothingIsMixed() throws {
        var random = Seeded("FTPAnswerTests.nothingIsMixed")
        for _ in 0..<Rounds.scaled(2_000) {
            let total = Int64.random(in: 1...100, using: &random)
            let first = head(total, age: [nil, 10, 3_600].randomElement(using: &random)!)
            guard let validator = Resuming.validator(first.headers) else { continue }
            let offset = Int64.random(in: 1...total, using: &random)
            let point = ResumePoint(url: "ftp://a.test/f", offset: offset, validator: validator, total: total)
            let newTotal = Bool.random(using: &random) ? total : Int64.random(in: 0...100, using: &random)
            let newAge: Int64? = [nil, 10, 3_600, 7_200].randomElement(using: &random)!
            let isTold = Bool.random(using: &random)
            let next = FTPAnswer.head(
                length: isTold ? max(0, newTotal - offset) : nil, modified: newAge.map { now + .seconds(-$0) },
                offset: offset, refusesOffset: newTotal < offset, now: now)
            let goesOn: Bool
            if case .append? = Resuming.judge(point, status: next.status, next.headers) {
                goesOn = true
            } else {
                goesOn = false
            }
            let isSame = newTotal == total && newAge == 3_600 && isTold && offset < total
            #expect(goesOn == isSame, "\(total) \(offset) \(newTotal) \(String(describing: newAge)) \(isTold)")
        }
    }
}
