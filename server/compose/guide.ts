import { openGuide } from '../adapters/guide/open-guide'
import type { Guide } from '../core/guide/guide'

/** The documentation, read when somebody first opens it. */
export function composeGuide(root: string): () => Promise<Guide> {
  let opened: Promise<Guide> | null = null
  return () => {
    opened ??= openGuide(root)
    return opened
  }
}
