/** How the frame around every page looks, drawn by the browser from the HTML and by React. */
export const FRAME_LOOK = {
  frame: 'md:grid md:grid-cols-[208px_minmax(0,1fr)]',
  rail: 'grid content-start border-b border-line max-md:pt-2 md:sticky md:top-0 md:h-dvh md:grid-rows-[auto_auto_1fr_auto] md:border-r md:border-b-0',
  top: 'flex items-center justify-between gap-3 px-4 md:px-5 md:pt-7 md:pb-4',
  product: 'text-base font-semibold no-underline',
  pages:
    'flex gap-1 overflow-x-auto px-2 py-2 md:row-start-3 md:flex-col md:overflow-x-hidden md:overflow-y-auto md:py-0',
  parts: 'mx-2 mb-3 grid h-9 grid-cols-2 items-center gap-1 rounded-lg bg-sunken p-1 max-md:mb-0',
  /** As high as the switch, for who is known to have it. */
  partsRoom: 'mb-3 hidden h-9 max-md:mb-0 [.staff_&]:block',
  part: 'small rounded-md px-2 py-1 text-center whitespace-nowrap no-underline aria-[current=true]:bg-surface aria-[current=true]:font-medium',
  group: 'relative flex gap-1 md:grid md:grid-cols-1 md:gap-0.5',
  foot: 'md:mt-auto md:py-3',
  item: 'control flex shrink-0 items-center gap-2 px-3 whitespace-nowrap no-underline hover:bg-sunken aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent',
  iconRoom: 'size-4 shrink-0',
  main: 'mx-auto grid w-full max-w-6xl min-w-0 grid-cols-1 content-start gap-6 px-4 py-6 md:px-8 md:py-8',
} as const
