import type { ZxcvbnFactory } from '@zxcvbn-ts/core'
import { APIError } from 'better-auth/api'
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from '../../../core/accounts/password'

/** The time to rate grows with the square of the length: 40 characters take some 10 ms of the serving thread, 128 take 90. */
const MAX_CHARACTERS = 40
/** Scores run from 0 to 4; 2 takes a guesser a million tries. */
const MIN_SCORE = 2

const WARNINGS: Readonly<Record<string, string>> = {
  straightRow: 'Rows of keys on the keyboard are easy to guess.',
  keyPattern: 'Short keyboard patterns are easy to guess.',
  simpleRepeat: 'Repeated characters such as "aaa" are easy to guess.',
  extendedRepeat: 'Repeated patterns such as "abcabcabc" are easy to guess.',
  sequences: 'Sequences such as "abc" or "6543" are easy to guess.',
  recentYears: 'Recent years are easy to guess.',
  dates: 'Dates are easy to guess.',
  topTen: 'This is one of the most used passwords.',
  topHundred: 'This is one of the most used passwords.',
  common: 'This is a commonly used password.',
  similarToCommon: 'This is similar to a commonly used password.',
  wordByItself: 'A single word is easy to guess.',
  namesByThemselves: 'Names are easy to guess.',
  commonNames: 'Names are easy to guess.',
  userInputs: 'It contains your name or email address.',
}

const SUGGESTIONS: Readonly<Record<string, string>> = {
  l33t: 'Replacing letters with similar characters, such as "@" for "a", does not help.',
  reverseWords: 'Reversed words do not help.',
  allUppercase: 'Capital letters alone do not help.',
  capitalization: 'Capitalize more than the first letter.',
  dates: 'Avoid dates that are connected with you.',
  recentYears: 'Avoid recent years.',
  associatedYears: 'Avoid years that are connected with you.',
  sequences: 'Avoid common sequences.',
  repeated: 'Avoid repeated words and characters.',
  longerKeyboardPattern: 'Change direction on the keyboard several times.',
  anotherWord: 'Add more words that are less common.',
  useWords: 'Use several words.',
}

let loading: Promise<ZxcvbnFactory> | null = null

const NEW_PASSWORDS: Readonly<Record<string, string>> = {
  '/sign-up/email': 'password',
  '/change-password': 'newPassword',
  '/reset-password': 'newPassword',
}

/**
 * Throws a 400 with advice if the body sets a new password that is easy to guess. Expects the limits of attempts to be taken, and the
 * name and email of a sign-up to be valid. The library itself refuses what has no password of a valid length.
 */
export async function refuseWeakPassword(path: string, body: Readonly<Record<string, unknown>>): Promise<void> {
  const password = body[NEW_PASSWORDS[path] ?? '']
  if (typeof password !== 'string' || password.length < MIN_PASSWORD_LENGTH || password.length > MAX_PASSWORD_LENGTH)
    return
  const personal =
    path === '/sign-up/email' ? [body['name'], body['email'], ...String(body['email']).split('@', 2)] : []
  loading ??= load()
  const checker = await loading
  const words = [...personal.filter((word) => typeof word === 'string'), 'gateway']
  const { score, feedback } = checker.check(password.slice(0, MAX_CHARACTERS), words)
  if (score >= MIN_SCORE) return
  const advice = [WARNINGS[feedback.warning ?? ''], ...feedback.suggestions.map((name) => SUGGESTIONS[name])]
  throw new APIError('BAD_REQUEST', {
    code: 'PASSWORD_TOO_WEAK',
    message: ['This password is too easy to guess.', ...advice].filter(Boolean).join(' '),
  })
}

/** Loaded with the first new password: the word lists take a tenth of a second and 50 MB. */
async function load(): Promise<ZxcvbnFactory> {
  const [{ ZxcvbnFactory }, { dictionary, adjacencyGraphs }] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ])
  return new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs })
}
