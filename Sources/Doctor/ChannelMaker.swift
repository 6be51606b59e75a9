package import ActivityModel

/// Makes channels at Apple for the doctor, and deletes them.
package protocol ChannelMaker: Sendable {
    /// Makes a channel that stores nothing.
    ///
    /// - Throws: `Problem`, with `outcome_unknown` if it is not known whether a channel was made.
    func makeChannel(_ app: BundleID, _ environment: APNSEnvironment) async throws -> ChannelID

    /// Deletes a channel. If Apple cannot be reached, Tally keeps trying.
    func deleteChannel(_ app: BundleID, _ id: ChannelID) async throws
}
