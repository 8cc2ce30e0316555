import type { Mail } from '../mail/mailer'

/** The mails that owners get, in plain words. Links carry their token behind #, which no server on the way sees or logs. */
export function resetMail(to: string, link: string): Mail {
  return {
    to,
    subject: 'Set a new password',
    text: `Somebody, likely you, asked to set a new password for ${to}.\n\nOpen this within an hour:\n${link}\n\nIf it was not you, do nothing: the password stays as it is.\n`,
  }
}

export function confirmEmailMail(to: string, link: string): Mail {
  return {
    to,
    subject: 'Confirm your new e-mail address',
    text: `You asked to sign in with ${to} from now on.\n\nOpen this within a day to confirm it:\n${link}\n\nIf it was not you, do nothing.\n`,
  }
}

/** To the address that was left, so that a thief cannot take an account in silence. */
export function emailChangedMail(to: string, newAddress: string): Mail {
  return {
    to,
    subject: 'Your e-mail address was changed',
    text: `The account that signed in with ${to} signs in with ${newAddress} now.\n\nIf it was not you, write to the operator of this gateway at once.\n`,
  }
}

/** The page that sets a new password with this token. Behind #, so that no server on the way sees or logs it. */
export function resetLink(baseUrl: string, token: string): string {
  return `${baseUrl}/reset-password#token=${token}`
}
