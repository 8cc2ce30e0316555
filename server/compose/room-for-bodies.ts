import { BytesInProgress } from '../core/limits/bytes-in-progress'

const MIB = 1024 * 1024

/**
 * The memory of this process for request bodies, for all of its gateways together: 64 MiB per account or address, and in total 512 MiB or a quarter of
 * the memory (spec-answers 9).
 */
export function roomForBodies(): BytesInProgress {
  return new BytesInProgress({ subject: 64 * MIB, all: Math.min(512 * MIB, process.constrainedMemory() / 4) })
}
