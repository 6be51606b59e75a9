import NIOCore
import Testing

@testable import HTTPAPI

@Suite("Lines of a stream")
struct LineSplitterTests {
    private static func lines(_ parts: [String], longest: Int = 100) -> [LineSplitter.Step] {
        var splitter = LineSplitter(longest: longest)
        var steps: [LineSplitter.Step] = []
        for part in parts {
            splitter.append(ByteBuffer(string: part))
            while true {
                let step = splitter.next()
                if step == .incomplete { break }
                steps.append(step)
                if step == .tooLong { return steps }
            }
        }
        let rest = splitter.rest()
        return rest.isEmpty ? steps : steps + [.line(rest)]
    }

    private static func line(_ text: String) -> LineSplitter.Step { .line(Array(text.utf8)) }

    @Test("They are the same however they arrive, with either line end, and the last may have none")
    func cuts() {
        let text = "first\n\r\n\nsecond ü\r\nthird"
        let expected = ["first", "", "", "second ü", "third"].map(Self.line)
        #expect(Self.lines([text]) == expected)
        let bytes = Array(text.utf8)
        for cut in 0...bytes.count {
            var splitter = LineSplitter(longest: 100)
            var steps: [LineSplitter.Step] = []
            for part in [bytes[..<cut], bytes[cut...]] {
                splitter.append(ByteBuffer(bytes: part))
                while case .line(let line) = splitter.next() { steps.append(.line(line)) }
            }
            steps.append(.line(splitter.rest()))
            #expect(steps == expected, "cut at \(cut)")
        }
    }

    @Test("One byte over the limit is too long, whether its end has arrived or not")
    func tooLong() {
        let fits = String(repeating: "x", count: 10)
        #expect(Self.lines([fits + "\n" + fits], longest: 10) == [Self.line(fits), Self.line(fits)])
        #expect(Self.lines([fits + "x\n"], longest: 10) == [.tooLong])
        #expect(Self.lines([fits, "x"], longest: 10) == [.tooLong])
    }

    @Test("Nothing comes behind the last line")
    func end() {
        var splitter = LineSplitter(longest: 100)
        splitter.append(ByteBuffer(string: "first\nlast"))
        #expect(splitter.next() == Self.line("first"))
        #expect(splitter.next() == .incomplete)
        #expect(splitter.rest() == Array("last".utf8))
        #expect(splitter.next() == .incomplete)
        #expect(splitter.rest().isEmpty)
    }

    @Test("What was handed out does not stay in memory")
    func memory() {
        var splitter = LineSplitter(longest: 1_000)
        let part = String(repeating: "x", count: 900)
        splitter.append(ByteBuffer(string: "x"))
        for _ in 0..<1_000 {
            splitter.append(ByteBuffer(string: part + "\nx"))
            #expect(splitter.next() != .incomplete)
            #expect(splitter.next() == .incomplete)
        }
        #expect(splitter.capacity < 16_000)
    }
}
