import { type ModelRequest, TEXT_PART } from './model-request'
import type { ModelWire } from './model-wire'

/** The streaming half of an API that only has plain answers. */
export const PLAIN_ANSWERS: Pick<ModelWire, 'textBytes' | 'meter' | 'errorEvent'> = {
  // Vectors and counts are no text that a model wrote.
  textBytes: () => 0,
  meter: () => {
    throw new Error('an API without streams has nothing to meter')
  },
  errorEvent: (body) => body,
}

/** The common part of such an API's calls: text in, and no written output. */
export const PLAIN_REQUEST = {
  stream: false,
  usageAsked: true,
  cap: 0,
  choices: 1,
  parts: TEXT_PART,
  hasTools: false,
} as const satisfies Partial<ModelRequest>
