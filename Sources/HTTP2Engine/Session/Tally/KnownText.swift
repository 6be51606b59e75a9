import Glibc

extension UnsafeBufferPointer<UInt8> {
    /// Whether these are the bytes of a text in the program.
    @inline(__always)
    func equals(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount, let start = baseAddress else { return false }
        return unsafe memcmp(start, text.utf8Start, count) == 0
    }
}
