/**
 * `reserved`: a write was begun, and nobody knows its outcome yet. `kept`: answered, and the answer is here. `too_large`: answered,
 * and the answer was not kept. `unknown`: begun, and nobody will ever know.
 */
export type KeptState = 'reserved' | 'kept' | 'too_large'
