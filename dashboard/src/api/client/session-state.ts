import { Signal } from '../../signal.ts'

/** True from the moment an answer said that nobody is signed in any more, until somebody is again. */
export const sessionEnded = new Signal(false)

/** True while something was refused because the sign-in is not recent enough, until it is, or the wish is given up. */
export const recentSignInRequired = new Signal(false)
