/// The answer to a request of a group that would have to wait for somebody else.
struct StillLocked: Error {}
