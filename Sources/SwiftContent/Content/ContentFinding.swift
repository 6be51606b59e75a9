package import JSON

/// Something in content that the phone could not decode, or would decode as something else than meant.
package struct ContentFinding: Sendable, Hashable {
    /// The place in the content.
    package let instance: JSONPointer
    /// The Swift type that it is declared as.
    package let swiftType: String
    /// What is wrong, for the author of the content. It can quote the value.
    package let message: String
}
