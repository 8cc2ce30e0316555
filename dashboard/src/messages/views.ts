import { MAX_VIEW_NAME, MAX_VIEWS } from '../../../server/core/accounts/account-settings.ts'

/** Views that an owner saved: a page with its filters, under a name. */
export const VIEWS_TEXT = {
  open: 'Saved views',
  lead: 'A view is this page with its current filters. Your views are the same in every browser.',
  none: 'No saved views yet.',
  list: 'Saved views of this page',
  name: 'Name',
  nameHint: 'For example, "Failures in production".',
  nameWrong: `Enter a name of at most ${MAX_VIEW_NAME} characters.`,
  save: 'Save this view',
  saved: (name: string) => `View "${name}" saved.`,
  remove: 'Delete',
  removeOf: (name: string) => `Delete view "${name}"`,
  noFilter: 'Set a filter or an order first.',
  full: `You have ${MAX_VIEWS} views. Delete one first.`,
  done: 'Done',
} as const
