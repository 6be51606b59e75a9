/// Something that is not Sendable and belongs to one loop: it may be carried anywhere, and touched only there.
///
/// It may also be let go anywhere, so the value's `deinit` must not need the loop.
package struct LoopBound<Value>: @unchecked Sendable {
    // Sendable without a check by the compiler: every access first proves that it runs on the loop's own thread. The
    // creator is on that thread too, or gives up its own access by `sending`.
    private let bound: Value
    package let loop: EventLoop

    /// Binds `value` to `loop`. Only on the loop.
    package init(_ value: Value, to loop: EventLoop) {
        loop.preconditionOnLoop()
        self.bound = value
        self.loop = loop
    }

    /// Binds `value`, which nobody else may keep, to `loop`. Any thread.
    package init(sending value: sending Value, to loop: EventLoop) {
        self.bound = value
        self.loop = loop
    }

    /// The value. Only on the loop's thread; a trap elsewhere, because it would be a data race.
    package var value: Value {
        loop.preconditionOnLoop()
        return bound
    }
}
