import { SHELL_TEXT } from '../messages/shell.ts'
import { NAVIGATION } from '../navigation.ts'
import { FRAME_LOOK as LOOK } from './frame-look.ts'

/**
 * The frame of a signed-in owner's page as HTML, painted as soon as the styles are there. React replaces it once the page has its account.
 * Inert until then, because a click would load the whole window again.
 */
export function firstPaint(): string {
  const groups = (['account', 'help'] as const).map((part) => {
    const items = NAVIGATION.filter((entry) => entry.part === part).map(
      ({ to, label }) => `<a href="${to}" class="${LOOK.item}"><span class="${LOOK.iconRoom}"></span>${label}</a>`,
    )
    return `<div class="${LOOK.group}${part === 'help' ? ` ${LOOK.foot}` : ''}">${items.join('')}</div>`
  })
  // As high as the row with the bell.
  const top = `<div class="${LOOK.top}"><a href="/" class="${LOOK.product}">${SHELL_TEXT.product}</a><span class="control"></span></div>`
  const rail = `<header class="${LOOK.rail}">${top}<div class="${LOOK.partsRoom}"></div><nav class="${LOOK.pages}">${groups.join('')}</nav></header>`
  return `<div inert aria-hidden="true" class="${LOOK.frame}">${rail}<main class="${LOOK.main}"></main></div>`
}
