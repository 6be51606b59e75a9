/// The lease is gone: another daemon may be at work. Nothing more may be sent for this segment.
package struct LeaseLost: Error, Sendable {
    package init() {}
}
