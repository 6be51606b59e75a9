import Testing

@testable import APNSTransport

@Suite("Which provider token is sent")
struct TokenInUseTests {
    @Test("the newest that came; the one before it comes back in no work")
    func newest() {
        let tokens = (0...2).map { ProviderToken(text: "\($0)", issuedAt: 1_000 - $0) }
        var inUse = TokenInUse()
        let sent = [0, 0, 1, 0, 1, 2, 1, 2].map { inUse.inPlace(of: tokens[$0]).text }
        #expect(sent == ["0", "0", "1", "1", "1", "2", "2", "2"])
    }
}
