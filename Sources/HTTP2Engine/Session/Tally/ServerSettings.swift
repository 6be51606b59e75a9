/// The settings that a server has announced (RFC 9113 §6.5.2, RFC 8441, RFC 9218).
struct ServerSettings {
    /// The most entries of one frame; more are an attack.
    static let maximumEntries = 32
    static let largestWindow = Int(Int32.max)

    private(set) var headerTableSize = 4096
    /// 100 before the first SETTINGS. Afterwards no limit, unless the server sets one.
    private(set) var maximumConcurrentStreams = 100
    private(set) var initialWindow = 65_535
    private(set) var maximumFrame = 16_384
    private var hasArrived = false
    private var allowsConnect = false
    /// Whether the server ignores priorities as RFC 7540 has them; `nil` before the first SETTINGS.
    private var ignoresPriorities: Bool?

    /// A change that concerns more than this value.
    enum Change {
        case headerTable(Int)
        case initialWindow(by: Int)
    }

    /// Applies the entries of one frame in their order.
    mutating func apply(
        _ payload: UnsafeRawBufferPointer,
        change: (Change) throws(SessionFault) -> Void
    ) throws(SessionFault) {
        if !hasArrived { maximumConcurrentStreams = Int(Int32.max) }
        hasArrived = true
        for start in stride(from: 0, to: payload.count, by: 6) {
            let name = unsafe UInt16(bigEndian: payload.loadUnaligned(fromByteOffset: start, as: UInt16.self))
            let value = unsafe UInt32(bigEndian: payload.loadUnaligned(fromByteOffset: start + 2, as: UInt32.self))
            try apply(name, Int(value), change)
        }
        if ignoresPriorities == nil { ignoresPriorities = false }
    }

    private mutating func apply(
        _ name: UInt16,
        _ value: Int,
        _ change: (Change) throws(SessionFault) -> Void
    ) throws(SessionFault) {
        switch name {
        case 1:
            headerTableSize = value
            try change(.headerTable(value))
        case 2:
            guard value == 0 else { throw SessionFault(.protocolError, "SETTINGS: a server cannot allow push") }
        case 3: maximumConcurrentStreams = min(value, Int(Int32.max))
        case 4:
            guard value <= Self.largestWindow else {
                throw SessionFault(.flowControlError, "SETTINGS: the initial window is too large")
            }
            let difference = value - initialWindow
            initialWindow = value
            try change(.initialWindow(by: difference))
        case 5:
            guard (16_384..<1 << 24).contains(value) else {
                throw SessionFault(.protocolError, "SETTINGS: the maximum frame size is out of range")
            }
            maximumFrame = value
        case 8:
            guard value <= 1, value == 1 || !allowsConnect else {
                throw SessionFault(.protocolError, "SETTINGS: the extended CONNECT has no such value")
            }
            allowsConnect = value == 1
        case 9:
            guard value <= 1, ignoresPriorities ?? (value == 1) == (value == 1) else {
                throw SessionFault(.protocolError, "SETTINGS: the use of priorities cannot change")
            }
            ignoresPriorities = value == 1
        default: break
        }
    }
}
