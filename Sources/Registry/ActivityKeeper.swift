package import ActivityModel
package import Postgres
package import Store

/// Carries out what a change in the registry means to activities, their starts and their cards.
///
/// The registry calls it for devices that register, for topics that change, and for apps that are deleted. The
/// rooms above implement it, because they write those tables.
package protocol ActivityKeeper: Sendable {
    /// Starts what is running on devices that have just been registered, or whose topics have changed.
    ///
    /// Call it after the change is committed and before it is answered. Then an app whose report was answered is
    /// certainly enrolled.
    ///
    /// - Parameters:
    ///   - deviceKeys: The devices. If there are none, nothing is done, and the statements are not run.
    ///   - statements: What to run first, in the same transaction.
    ///   - isReport: Whether the devices have reported. Then failed and withheld starts are tried again.
    /// - Throws: `PostgresError`.
    func startActivities(on deviceKeys: [Int64], after statements: [Query], isReport: Bool) async throws

    /// Ends cards on their phones, then forgets them. Locks the cards first.
    func endCards(_ cards: [CardKey], on connection: PostgresConnection) async throws

    /// The statement that deletes some pushes of an app that is being deleted, at most `limit`. It leaves those that others
    /// hold.
    func pushDeletion(of app: BundleID, limit: Int) -> Query

    /// Deletes the ended activities of an app that is being deleted, in many short transactions.
    func deleteActivities(of app: BundleID) async throws
}
