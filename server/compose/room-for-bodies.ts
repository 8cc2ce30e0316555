import { BytesInProgress } from '../core/limits/bytes-in-progress'
import type { UnreadCaps } from '../http/middleware/response/unread-answers'

const MIB = 1024 * 1024

/**
 * The memory of this process for request bodies: 64 MiB per account or address, and in total 512 MiB or a quarter of
 * the memory (spec D9).
 */
export function roomForBodies(): BytesInProgress {
  return new BytesInProgress({ subject: 64 * MIB, all: Math.min(512 * MIB, process.constrainedMemory() / 4) })
}

/** The same for answers that their readers have not taken: 32 MiB per account or address, and in total 256 MiB or an eighth of the memory. */
export function roomForAnswers(): UnreadCaps {
  return { owner: 32 * MIB, all: Math.min(256 * MIB, process.constrainedMemory() / 8) }
}
