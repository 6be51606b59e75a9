/// The room of cards, right above the store. A card is an activity on a phone, with a row in `subscriptions`.
///
/// - **What it does.** It has every statement that writes cards, the starts that bring cards to phones, and the cards that
///   new ones continue. Most are parts of statements that other rooms compose, so that a transaction stays one.
///   - ``Destination``, ``DueCards`` and ``PendingCards``: the cards that are served by their own rows.
///   - ``CardCounts``: how many cards a change would reach, and how many not.
///   - `Reports`: what the reports and receipts of apps mean to cards and starts (``ReportedStarts``, ``ReportRows``,
///     ``StoredCard``, ``ShownRevision``), and which tickets are good for a report (``TicketedCard``).
///   - `Rings`: cards that a ring serves, read slice by slice (``RingSlice``).
///   - ``LeavingCards``: cards that are ended and forgotten.
///   - ``Continuations``: new cards that continue old ones.
///   - ``WatchedCard``: cards for which time gives something to do.
///   - `Answers`: what the answers of APNs mean to cards (``PushExceptions``, ``Consequence``).
///   - `Subscriptions`: statements that write cards: new ones, those of lost channels, those to try again.
///   - `Starts`: statements that write starts, from the enrolment to the answer (``StartRows``), and how many devices a
///     start would reach (``StartCounts``).
///   - `Versions`: cards and starts whose apps cannot decode the newest state (``CardVersions``).
/// - **Who calls it.** All rooms above it that make or change cards: the registry when a device changes, the channels when
///   one is lost, accepting, and sending. It calls none of them.
/// - **Tables that it alone writes.** `subscriptions`, `starts`, `continuations`.
///
/// This enum has the statements, and parts of them, that write `subscriptions`.
package enum SubscriptionRows {}
