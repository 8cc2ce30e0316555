import { Signal } from '../signal.ts'

/** True from the moment an answer said that nobody is signed in any more, until somebody is again. */
export const sessionEnded = new Signal(false)
