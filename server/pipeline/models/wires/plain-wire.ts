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
