import { isoTime } from '../../clock'
import type { Mail } from '../../mail/mailer'

/** The mails that owners receive. Links carry their token after #, which browsers send to no server, so no log has it. */
export function resetMail(to: string, link: string): Mail {
  return {
    to,
    subject: 'Set a new password',
    text: `Someone asked to set a new password for ${to}.\n\nTo choose one, open this link within an hour:\n${link}\n\nIf this wasn't you, ignore this mail. Your password stays the same.\n`,
  }
}

export function confirmEmailMail(to: string, link: string): Mail {
  return {
    to,
    subject: 'Confirm your new email address',
    text: `You asked to change your email address to ${to}.\n\nTo confirm it, open this link within a day:\n${link}\n\nIf this wasn't you, ignore this mail.\n`,
  }
}

export function confirmSignUpMail(to: string, link: string): Mail {
  return {
    to,
    subject: 'Confirm your email address',
    text: `Someone signed up with ${to}.\n\nTo confirm that the address is yours and to get your free credit, open this link within a day:\n${link}\n\nIf this wasn't you, ignore this mail. Without the confirmation nobody can use the account.\n`,
  }
}

export function invitationMail(
  to: string,
  {
    workspace,
    by,
    role,
    link,
  }: { readonly workspace: string; readonly by: string; readonly role: string; readonly link: string },
): Mail {
  return {
    to,
    subject: 'You are invited to a workspace',
    text: `${by} invites you to the workspace "${workspace}" as ${role}.\n\nTo accept, open this link within 7 days and sign in or sign up with ${to}:\n${link}\n\nIf you don't know the sender, ignore this mail.\n`,
  }
}

/** Goes to the owner of an address with which somebody signed up again: the sign-up page does not reveal that it is taken. */
export function takenSignUpMail(to: string, link: string): Mail {
  return {
    to,
    subject: 'You already have an account',
    text: `Someone signed up with ${to}, which already has an account here.\n\nSign in with your password. If you don't know it, choose a new one with this link, within an hour:\n${link}\n\nIf this wasn't you, ignore this mail. Your account stays the same.\n`,
  }
}

/** Somebody guesses the password. Names no link: a mail that asks to click and sign in is what thieves send. */
export function guessingMail(to: string, address: string | null): Mail {
  return {
    to,
    subject: 'Failed sign-ins to your account',
    text: `Someone failed to sign in to your account, or to confirm its password, several times${address === null ? '' : `, last from ${address}`}. Further attempts have to wait, except in browsers in which you signed in before.\n\nYour password was not guessed. If you use it elsewhere or it is easy to guess, change it in Settings, and set up a second factor there.\n`,
  }
}

/** A browser's description of itself, as a short line of plain text; null without one. */
export function plainUserAgent(text: string | null): string | null {
  return text?.replace(/[^\x20-\x7e]/g, '').slice(0, 200) || null
}

export function newBrowserMail(
  to: string,
  {
    address,
    userAgent,
    at,
  }: { readonly address: string | null; readonly userAgent: string | null; readonly at: number },
): Mail {
  return {
    to,
    subject: 'New sign-in to your account',
    text: `Your account was signed in to from a browser that we have not seen before.\n\nTime: ${isoTime(at)}\nIP address: ${address ?? 'unknown'}\nBrowser: ${userAgent ?? 'unknown'}\n\nIf this wasn't you, sign out all other sessions in Settings, and change your password.\n`,
  }
}

const CHANGES = {
  second_factor_on: 'An authenticator app was set up as the second factor of your account.',
  second_factor_off: 'The authenticator app of your account was removed. The password alone signs in again.',
  recovery_codes: 'New recovery codes were made for your account. The old ones no longer work.',
  recovery_code_used:
    'Someone signed in to your account with your password and a recovery code. That code no longer works.',
  second_factor_locked:
    'Someone gave the right password of your account and then ten wrong codes. No code is accepted for 15 minutes; a passkey still signs in. They know your password: choose a new one.',
  passkey_added: 'A passkey was added to your account. It signs in without the password.',
  passkey_removed: 'A passkey was removed from your account.',
  identity_linked: 'Another way to sign in was linked to your account. It signs in without the password.',
  identity_unlinked: 'A linked way to sign in was removed from your account.',
  second_factor_reset:
    'An operator of this gateway removed the authenticator app, recovery codes and passkeys of your account, and signed out all its sessions. The password alone signs in again. Set up a second factor in Settings.',
} as const

/** A change of how an owner signs in. */
export type SecurityChange = keyof typeof CHANGES

/** Notifies the owner, so that no change of the sign-in goes unnoticed. */
export function securityMail(to: string, change: SecurityChange): Mail {
  return {
    to,
    subject: 'The sign-in to your account changed',
    text: `${CHANGES[change]}\n\nIf this wasn't you, set a new password, sign out all other sessions in Settings, and contact the operator of this gateway.\n`,
  }
}

/** Goes to the old address, so that no takeover of an account goes unnoticed. */
export function emailChangedMail(to: string, newAddress: string): Mail {
  return {
    to,
    subject: 'Your email address was changed',
    text: `The email address of your account was changed from ${to} to ${newAddress}.\n\nIf this wasn't you, contact the operator of this gateway immediately.\n`,
  }
}

/** Tells the owner why nothing works any more, or that it works again. */
export function suspensionMail(to: string, reason: string, lifted: boolean): Mail {
  const [subject, what] = lifted
    ? ['Your account works again', 'The operator of this gateway lifted the suspension of your account.']
    : [
        'Your account was suspended',
        'The operator of this gateway suspended your account. Its API keys, apps and sessions are refused until the suspension is lifted. Your balance is kept.',
      ]
  return { to, subject, text: `${what}\n\nReason: ${reason}\n\nQuestions? Contact the operator of this gateway.\n` }
}

/** The page that sets a new password. The token comes after #, so that no server sees or logs it. */
export function resetLink(baseUrl: string, token: string): string {
  return `${baseUrl}/reset-password#token=${token}`
}
