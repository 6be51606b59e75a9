// Every code of 409: the request conflicts with the current state.
extension Problem {
    private static func conflict(_ code: String, _ detail: String) -> Problem {
        Problem(409, code, detail)
    }

    // MARK: Apps, types and devices

    /// 409: an app with running activities, or with channels at Apple, cannot be deleted. `detail` says which.
    package static func appInUse(_ detail: String) -> Problem {
        conflict("app_in_use", detail)
    }

    /// 409: the new schemas would break running activities. `?force=true` registers them anyway.
    package static func incompatibleSchema(_ errors: [FieldError]) -> Problem {
        let detail =
            "The new version would break running activities. Add 'force=true' (in the CLI --force) to register it all the same."
        return Problem(409, "incompatible_schema", detail, errors: errors)
    }

    /// 409: the newest version of a type cannot be retired.
    package static func newestVersion(_ version: Int) -> Problem {
        conflict(
            "newest_version",
            "Version \(version) is the newest: Tally checks all content against it. Register a newer one first."
        )
    }

    /// 409: the device or user of a push has no device token to send to. `whom` is a noun with its article.
    package static func noDeviceToken(_ whom: String) -> Problem {
        conflict(
            "no_device_token",
            "No device token is registered for \(whom), or APNs refused it: it is no longer active, or not valid here."
        )
    }

    // MARK: Activities

    /// 409: the activity runs with other attributes. Attributes never change.
    package static func attributesConflict() -> Problem {
        conflict("attributes_conflict", "An activity with this id runs with other attributes.")
    }

    /// 409: an activity with this id was started differently or has ended.
    package static func activityExists(
        _ detail: String = "An activity with this id was started by another request."
    ) -> Problem {
        conflict("activity_exists", detail)
    }

    /// 409: the end is final.
    package static func activityEnded() -> Problem {
        conflict("activity_ended", "The activity has ended.")
    }

    /// 409: the event is older than the newest accepted event.
    package static func lateEvent(newest: Instant) -> Problem {
        conflict("late_event", "'event_time' is older than the newest accepted one, \(newest).")
    }

    // MARK: Channels and schedules

    /// 409: the channel's activity still runs.
    package static func channelInUse() -> Problem {
        conflict("channel_in_use", "The channel serves an activity that has not ended.")
    }

    /// 409: another reconcile is comparing the channels with Apple's list.
    package static func sweepInProgress() -> Problem {
        conflict("sweep_in_progress", "The channels of this app and environment are being swept just now.")
    }

    /// 409: the schedule has already run, failed or been cancelled.
    package static func scheduleSettled(_ state: ScheduleState) -> Problem {
        conflict("schedule_settled", "The schedule is \(state.rawValue).")
    }

    /// 409: an end that waits for silence has no time yet, so it cannot be run early.
    package static func scheduleWaits() -> Problem {
        conflict("schedule_waits", "This end waits until nothing has changed for a time; end the activity instead.")
    }

    // MARK: Idempotency

    /// 409: the key was used before with another body.
    package static func idempotencyKeyReused() -> Problem {
        conflict("idempotency_key_reused", "This Idempotency-Key was used with another body.")
    }

    /// 409: the first request with this key is still running.
    package static func idempotencyInProgress(retryAfter: Int = 1) -> Problem {
        let detail = "The first request with this Idempotency-Key is still running."
        return Problem(409, Code.idempotencyInProgress, detail, retryAfter: retryAfter)
    }
}
