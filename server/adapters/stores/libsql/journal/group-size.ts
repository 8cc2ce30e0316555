/** The maximum number of records per commit, so that commits stay short and failures are detected early. */
export const MAX_GROUP = 512
/** The maximum of their bytes as JSON, unless one record is larger: databases over the network take no values of many megabytes. */
export const MAX_GROUP_BYTES = 1024 * 1024

/** How many of the first items make one group: at least one, at most `max`, together within `room` bytes. */
export function groupSize<T>(
  items: readonly T[],
  bytesOf: (item: T) => number,
  max = MAX_GROUP,
  room = MAX_GROUP_BYTES,
): number {
  const most = Math.min(max, items.length)
  let bytes = 0
  for (let i = 0; i < most; i++) {
    bytes += bytesOf(items[i] as T)
    if (bytes > room) return Math.max(1, i)
  }
  return most
}
