import ActivityModel
import Testing

@testable import APNSTransport

@Suite("Tokens of a batch")
struct TokenBufferTests {
    @Test("tokens of any length lie one after the other in lower-case hex")
    func tokenBuffer() throws {
        var buffer = TokenBuffer()
        buffer.reserveCapacity(3)
        buffer.append(try #require(PushToken(hex: "00FFa1")))
        #expect(buffer.append(bytes: [0x5e]) == true)
        #expect(buffer.append(bytes: []) == false)
        #expect(buffer.append(bytes: [UInt8](repeating: 0, count: 257)) == false)
        #expect(buffer.append(bytes: [UInt8](repeating: 0xab, count: 256)) == true)
        #expect(buffer.count == 3)
        #expect(String(decoding: buffer[0], as: UTF8.self) == "00ffa1")
        #expect(String(decoding: buffer[1], as: UTF8.self) == "5e")
        #expect(buffer[2].count == 512)
        var dumped = ""
        dump(buffer, to: &dumped)
        #expect(!dumped.contains("48"))
        #expect("\(buffer)" == "3 tokens")
    }
}
