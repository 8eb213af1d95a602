// Values as people read them, with the units of the terminal.
export type Unit = 'bit/s' | 'ms' | '%' | 'B' | '1/s';

const PREFIXES = ['', 'k', 'M', 'G', 'T'];

export function show(value: number | null | undefined, unit: Unit): string {
  if (value == null || !Number.isFinite(value)) return '–';
  if (unit === 'bit/s' || unit === 'B' || unit === '1/s') {
    let nth = 0;
    while (Math.abs(value) >= 1000 && nth < PREFIXES.length - 1) {
      value /= 1000;
      nth += 1;
    }
    return `${digits(value)} ${PREFIXES[nth]}${unit}`;
  }
  return `${digits(value)} ${unit}`;
}

// Four significant digits, as everywhere in the program.
function digits(value: number): string {
  if (value === 0) return '0';
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.min(Math.max(3 - magnitude, 0), 3));
}

export function showTime(ms: number): string {
  return new Date(ms).toISOString().replace('T', ' ').slice(0, 19);
}

// A number of things: `1 case`, `2 cases`.
export function counted(number: number, one: string): string {
  return `${number} ${one}${number === 1 ? '' : 's'}`;
}
