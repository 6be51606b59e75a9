import Foundation

extension Data {
    /// Two digits a byte, as Tally takes tokens.
    var hexText: String {
        map { byte in
            let text = String(byte, radix: 16)
            return text.count == 1 ? "0" + text : text
        }
        .joined()
    }
}
