import APITypes
import ActivityModel
import JSON
import Postgres
import Store

/// Reads the entries of a timeline, the newest first, from all tables that hold a part of the story.
///
/// Each source gives rows of one form: when, an id in that source, whose, and a JSON object with the fields of
/// ``TimelineEntry``. So a page is a merge of a few short lists.
struct TimelineEntries {
    /// Devices, each by its key and its id.
    struct Devices: Sendable {
        var keys: [Int64] = []
        var ids: [String] = []
    }

    let subject: TimelineSubject
    /// The only devices whose entries are of interest; nil: all.
    var devices: Devices?
    let page: PageRequest

    /// A place between two entries; a page holds what is older.
    private struct Place: Comparable {
        let at: PGTimestamp
        /// The number of the source, in the order in which they speak of one moment.
        let source: Int16
        let id: Int64

        var values: [String] { [String(at.microseconds), String(source), String(id)] }

        static func < (left: Place, right: Place) -> Bool {
            (left.at, left.source, left.id) < (right.at, right.source, right.id)
        }
    }

    private struct Found {
        let place: Place
        let device: String?
        let detail: String

        var entry: TimelineEntry {
            get throws {
                var fields = try JSONValue(parsing: detail).object ?? JSONObject()
                fields["at"] = .string(Instant(place.at).description)
                fields["device_id"] = device.map { .string($0) }
                fields["text"] = .string("")
                var entry = try TimelineEntry(json: .object(fields))
                entry.text = EntryWords.text(of: entry)
                return entry
            }
        }
    }

    func read(on connection: PostgresConnection) async throws -> Page<TimelineEntry> {
        let place = try place()
        let results = try await connection.pipeline([
            changes(place), priorities(place), registrations(place), events(place), told(place), shown(place),
        ])
        var found: [Found] = []
        for (source, rows) in results.enumerated() {
            for (at, id, device, detail) in try rows.decoded(as: (PGTimestamp, Int64, String?, String).self) {
                let place = Place(at: at, source: Int16(source), id: id)
                found.append(Found(place: place, device: device, detail: detail))
            }
        }
        found.sort { $1.place < $0.place }
        let items = try found.prefix(page.limit).map { try $0.entry }
        guard found.count > page.limit, let last = found.prefix(page.limit).last else { return Page(items: items) }
        return Page(items: items, nextCursor: PageCursor(in: .timeline, last.place.values).text)
    }

    private func place() throws(Problem) -> Place {
        guard let (at, source, id) = try page.position(in: .timeline, PGTimestamp.self, Int16.self, Int64.self) else {
            return Place(at: PGTimestamp(microseconds: .max), source: .max, id: .max)
        }
        return Place(at: at, source: source, id: id)
    }

    // MARK: Sources

    private func changes(_ place: Place) -> Query {
        """
        SELECT c.accepted_at AS at, c.revision AS id, NULL::text AS device_id,
               json_build_object('kind', 'accepted', 'revision', c.revision, 'event', c.kind, 'urgency', c.urgency,
                   'alert', c.alert IS NOT NULL, 'must_deliver', c.must_deliver, 'timestamp', c.timestamp,
                   'merged_into', c.merged_into, 'request_id', c.request_id, 'traceparent', c.traceparent)::text AS detail
        FROM changes AS c WHERE c.activity_key = \(subject.activityKey)
        AND (c.accepted_at, 0::int2, c.revision) < (\(place.at), \(place.source), \(place.id))
        ORDER BY c.accepted_at DESC, c.revision DESC LIMIT \(page.limit + 1)
        """
    }

    /// Those on the ledger, and those of routine changes, which it does not hold. To know whether one has left costs a
    /// look at the timeline. So they are put in order first, and only as many are looked up as the page may show.
    private func priorities(_ place: Place) -> Query {
        """
        SELECT l.decided_at, l.id, NULL::text,
               json_build_object('kind', 'priority', 'revision', l.revision, 'class', l.class, 'priority', l.priority,
                   'reason', l.reason, 'explanation', l.explanation)::text
        FROM (
            SELECT (SELECT \(unescaped: DeviceStory.classOf("s")) FROM subscriptions AS s
                    WHERE s.activity_key = \(subject.activityKey) AND s.device_key = \(subject.device?.key)) AS class
        ) AS card CROSS JOIN LATERAL (
            SELECT b.decided_at, b.revision * 8 + array_position(enum_range(NULL::budget_class), b.class) AS id,
                   b.revision, b.class, b.priority, b.reason, b.explanation
            FROM budget_ledger AS b WHERE b.activity_key = \(subject.activityKey)
            UNION ALL
            (SELECT c.accepted_at, c.revision * 8, c.revision, card.class, \(RoutinePriority.number),
                    \(RoutinePriority.reason), \(RoutinePriority.explanation)
             FROM (
                 SELECT activity_key, revision, accepted_at, is_sent, sent_with_ring, merged_into FROM changes AS c
                 WHERE c.activity_key = \(subject.activityKey) AND \(unescaped: RoutinePriority.isMeant)
                   AND (c.accepted_at, 1::int2, c.revision * 8) < (\(place.at), \(place.source), \(place.id))
                 ORDER BY accepted_at DESC, revision DESC OFFSET 0
             ) AS c
             WHERE \(unescaped: RoutinePriority.hasLeft)
               AND NOT EXISTS (
                   SELECT FROM budget_ledger AS b WHERE b.activity_key = c.activity_key AND b.revision = c.revision
                     AND b.class = coalesce(card.class, b.class)
               )
             ORDER BY c.accepted_at DESC, c.revision DESC LIMIT \(page.limit + 1))
        ) AS l
        WHERE (\(subject.deviceID == nil) OR l.class = card.class)
        AND (l.decided_at, 1::int2, l.id) < (\(place.at), \(place.source), \(place.id))
        ORDER BY l.decided_at DESC, l.id DESC LIMIT \(page.limit + 1)
        """
    }

    /// Only of some devices: an activity may have a million.
    private func registrations(_ place: Place) -> Query {
        """
        SELECT s.registered_at, s.device_key, d.device_id, json_build_object('kind', 'registered', 'event', s.mode)::text
        FROM subscriptions AS s JOIN devices AS d USING (device_key)
        WHERE s.activity_key = \(subject.activityKey) AND s.device_key = ANY(\(devices?.keys ?? []))
          AND (s.update_token IS NOT NULL OR s.mode = 'channel')
        AND (s.registered_at, 2::int2, s.device_key) < (\(place.at), \(place.source), \(place.id))
        ORDER BY s.registered_at DESC, s.device_key DESC LIMIT \(page.limit + 1)
        """
    }

    /// The newest receipt of each card, of some devices only.
    private func shown(_ place: Place) -> Query {
        """
        SELECT s.shown_at, s.device_key, d.device_id,
               json_build_object('kind', 'shown', 'revision', s.shown_revision, 'delay_milliseconds',
                   (extract(epoch FROM s.shown_at - c.accepted_at) * 1000)::int8)::text
        FROM subscriptions AS s JOIN devices AS d USING (device_key)
        JOIN changes AS c ON c.activity_key = s.activity_key AND c.revision = s.shown_revision
        WHERE s.activity_key = \(subject.activityKey) AND s.device_key = ANY(\(devices?.keys ?? []))
        AND (s.shown_at, 5::int2, s.device_key) < (\(place.at), \(place.source), \(place.id))
        ORDER BY s.shown_at DESC, s.device_key DESC LIMIT \(page.limit + 1)
        """
    }

    /// The ``EntryWords/events``. An activity that had the same id before has its own.
    private func events(_ place: Place) -> Query {
        """
        SELECT e.at, e.event_id, e.device_id,
               json_build_object('kind', e.kind, 'event', coalesce(e.detail->>'token', e.detail->>'kind'),
                   'revision', (e.detail->>'revision')::int8,
                   'reason', coalesce(e.detail->>'reason', e.detail->>'app_version'))::text
        FROM events AS e
        WHERE e.bundle_id = \(subject.app.rawValue) AND e.activity_id = \(subject.activityID.rawValue)
          AND e.at >= (SELECT a.created_at FROM activities AS a WHERE a.activity_key = \(subject.activityKey))
          AND (\(devices == nil) OR e.device_id IS NULL OR e.device_id = ANY(\(devices?.ids ?? [])))
          AND e.kind = ANY(\(EntryWords.events.keys.map(\.word)))
        AND (e.at, 3::int2, e.event_id) < (\(place.at), \(place.source), \(place.id))
        ORDER BY e.at DESC, e.event_id DESC LIMIT \(page.limit + 1)
        """
    }

    /// The entries of the timeline itself. Of batches a device is told those that it was in, of broadcasts those that it
    /// could hear.
    private func told(_ place: Place) -> Query {
        let keys = devices?.keys ?? []
        return """
            SELECT t.at, t.entry_id, d.device_id,
                   json_build_object('kind', t.kind, 'event', t.event, 'revision', t.revision, 'priority', t.priority,
                       'outcome', t.outcome, 'status', t.status, 'reason', t.reason, 'apns_id', t.apns_id,
                       'apns_unique_id', t.unique_id, 'segment', t.segment, 'counts', t.counts, 'request_id', c.request_id,
                       'latency_milliseconds', round(1000 * extract(epoch FROM t.latency), 1))::text
            FROM timeline AS t LEFT JOIN devices AS d USING (device_key)
            LEFT JOIN changes AS c ON c.activity_key = t.activity_key AND c.revision = t.revision
            WHERE t.activity_key = \(subject.activityKey)
              AND (\(devices == nil) OR t.device_key = ANY(\(keys)) OR (t.device_key IS NULL AND CASE
                  WHEN t.kind = 'batch' THEN EXISTS (
                      SELECT FROM unnest(\(keys)) AS k(key) WHERE k.key BETWEEN t.first_device AND t.last_device)
                  WHEN t.kind = 'push' THEN EXISTS (
                      SELECT FROM subscriptions AS s
                      WHERE s.activity_key = t.activity_key AND s.device_key = ANY(\(keys)) AND s.mode = 'channel' OFFSET 0)
                  ELSE true END))
            AND (t.at, 4::int2, t.entry_id) < (\(place.at), \(place.source), \(place.id))
            ORDER BY t.at DESC, t.entry_id DESC LIMIT \(page.limit + 1)
            """
    }
}
