/// Carries a value that is not Sendable and belongs to one loop. Any thread may hold it; only the loop may access the
/// value.
///
/// Any thread may also release it, so the value's `deinit` must not need the loop.
package struct LoopBound<Value>: @unchecked Sendable {
    // Unchecked, but correct: every access checks that it runs on the loop's thread. The creator runs on that thread
    // too, or gives up its access by `sending`.
    private let bound: Value
    package let loop: EventLoop

    /// Binds `value` to `loop`. Call it only on the loop.
    package init(_ value: Value, to loop: EventLoop) {
        loop.preconditionOnLoop()
        self.bound = value
        self.loop = loop
    }

    /// Binds `value`, which no one else may reference, to `loop`. Any thread may call it.
    package init(sending value: sending Value, to loop: EventLoop) {
        self.bound = value
        self.loop = loop
    }

    /// The value. Any thread except the loop's traps, because the access would be a data race.
    package var value: Value {
        loop.preconditionOnLoop()
        return bound
    }
}
