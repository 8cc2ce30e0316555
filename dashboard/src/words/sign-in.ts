/** Sign-in, sign-up and the first run. */
export const SIGN_IN_WORDS = {
  signIn: 'Sign in',
  signUp: 'Create account',
  email: 'Email',
  password: 'Password',
  passwordHint: '12 characters or more. Pasting and password managers work.',
  credit: 'You start with $2.00 of credit. No card needed.',
  noAccount: 'No account yet?',
  haveAccount: 'Have an account?',
  forgot: 'Forgot your password?',
  emailNeeded: 'Enter your email address.',
  passwordNeeded: 'Enter your password.',
  passwordShort: 'Use 12 characters or more.',
  waitFor: (seconds: number) => `Too many tries. Try again in ${seconds} s.`,
  ended: 'Your session has ended',
  endedText: 'Sign in again to go on. What you typed on this page is kept.',
  again: 'Sign in again',
} as const
