import APITypes
import ActivityModel
import Foundation
import Postgres
import SystemSupport
import TallyClient
import TestSupport
import Testing

/// What docs/guides/backup.md says, carried out on a match under way.
@Suite("Backup and restore")
struct BackupTests {
    @Test(
        "after a restore, the backend's next post reaches every phone, although they had seen more than the backup knew"
    )
    func restores() async throws {
        try await TallySystem.with { system in
            let stage = OperatorStage(system: system)
            try await stage.kickOff(phones: 3)
            try await stage.post(minute: 1)
            try await eventually("all show minute 1") { try await stage.allShow(minute: 1) }
            for (hour, minute) in [(1, 80), (2, 90)] {
                var later = UpdateRequest(contentState: OperatorStage.content(minute: Int64(minute)))
                later.at = Instant(unixSeconds: Int64(Date.now.timeIntervalSince1970) + Int64(hour) * 3_600)
                _ = try await system.client().update(TallySystem.app, OperatorStage.id, later)
            }
            try await Shell.run(
                try DocumentBlock.read("backup", in: "guides/backup.md"),
                environment: ["TALLY_DATABASE_URL": system.settings["TALLY_DATABASE_URL"] ?? ""],
                in: system.folder
            )
            // These the backup does not know.
            try await stage.post(minute: 2)
            try await stage.post(minute: 3)
            try await eventually("all show minute 3") { try await stage.allShow(minute: 3) }
            await system.killDaemon()
            // Stamps run up to two seconds ahead of the clock; no machine is restored as fast as this test can be.
            try await eventually("the clock has passed all stamps") {
                try await system.database.query("SELECT now() > to_timestamp(max(stamp) + 1) FROM activities")
                    .decoded(as: Bool.self).first ?? false
            }

            let name = "restored_after_backup"
            let cluster = try await TestCluster.shared
            let making = try DocumentBlock.read("restored-database", in: "guides/backup.md")
                .replacing("runuser -u postgres -- createdb", with: "createdb --maintenance-db='\(cluster.url())'")
                .replacing("--owner tally ", with: "")
                .replacing("tally_restored", with: name)
            #expect(making.contains(" --template template0 \(name)"))
            try await Shell.run(making, in: system.folder)
            let restored = ["TALLY_DATABASE_URL": cluster.url(database: name)]
            try await Shell.run(
                try DocumentBlock.read("restore", in: "guides/backup.md"),
                environment: restored,
                in: system.folder
            )
            func psql(_ script: String) async throws -> String {
                try await Shell.run(script, environment: restored, in: system.folder)
            }
            // As if an hour and a half had gone by since the backup.
            _ = try await psql(
                #"psql "$TALLY_DATABASE_URL" -c "UPDATE schedules SET due_at = due_at - interval '90 minutes'""#
            )
            let due = try await psql(DocumentBlock.read("schedules", in: "guides/backup.md"))
            #expect(due.matches(of: /friendly +\| update .*\| ([tf])/).map(\.output.1) == ["t", "f"], "\(due)")
            _ = try await psql(DocumentBlock.read("cancel-schedules", in: "guides/backup.md"))
            let left = try await psql(DocumentBlock.read("schedules", in: "guides/backup.md"))
            #expect(left.matches(of: /friendly +\| update .*\| ([tf])/).map(\.output.1) == ["f"], "\(left)")
            let url = try await system.startAnotherDaemon(environment: restored).url
            try await system.reportPhones(to: url)
            let look = try await Shell.run(
                try DocumentBlock.read("after-restore", in: "guides/backup.md"),
                environment: [
                    "TALLY_URL": url, "TALLY_API_KEY": TallySystem.adminKey, "TALLY_APP": TallySystem.app.rawValue,
                ],
                in: system.folder,
                stopsAtFailure: false
            )
            #expect(look.contains("signing_key com.example.matchday (production): key ABC123DEFG is P-256"), "\(look)")
            #expect(look.contains(OperatorStage.id.rawValue))
            let client = try system.client(url: url)
            #expect(try await client.activity(TallySystem.app, OperatorStage.id).revision == 2)

            _ = try await client.update(
                TallySystem.app,
                OperatorStage.id,
                UpdateRequest(contentState: OperatorStage.content(minute: 4))
            )
            try await eventually("all show minute 4") { try await stage.allShow(minute: 4) }
        }
    }
}
