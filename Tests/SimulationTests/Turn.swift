/// One time that a daemon serves a segment.
struct Turn: Sendable, Hashable {
    let number: Int
    /// When it began, milliseconds since 1970.
    let since: Int64
    /// The same as ``Apple/State/uptime``.
    let uptime: Int64

    /// The one that the current task works for.
    @TaskLocal static var current = Turn(number: 0, since: 0, uptime: 0)
}
