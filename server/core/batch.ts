/** The reads that `GET /api/batch` takes at once: more than any page of the dashboard asks for. */
export const MAX_BATCH_PARTS = 24
