// Equal Earth (Šavrič, Patterson and Jenny, 2018): areas are true, so that land does not boast.
const [A1, A2, A3, A4] = [1.340264, -0.081106, 0.000893, 0.003796];
const M = Math.sqrt(3) / 2;
const RAD = Math.PI / 180;
const HALF_WIDTH = 2.7066299836960748;

const slope = (l) => A1 + 3 * A2 * l ** 2 + l ** 6 * (7 * A3 + 9 * A4 * l ** 2);
const height = (l) => l * (A1 + A2 * l ** 2 + l ** 6 * (A3 + A4 * l ** 2));

function solve(y) {
  let l = y;
  for (let round = 0; round < 12; round += 1) {
    const step = (height(l) - y) / slope(l);
    l -= step;
    if (Math.abs(step) < 1e-9) break;
  }
  return l;
}

export function equalEarth(L) {
  const projection = {
    bounds: L.bounds([-HALF_WIDTH, -1.32], [HALF_WIDTH, 1.32]),
    project({ lat, lng }) {
      const l = Math.asin(M * Math.sin(lat * RAD));
      return L.point((lng * RAD * Math.cos(l)) / (M * slope(l)), height(l));
    },
    unproject({ x, y }) {
      const l = solve(Math.max(-1.3173, Math.min(1.3173, y)));
      const sine = Math.max(-1, Math.min(1, Math.sin(l) / M));
      return L.latLng(Math.asin(sine) / RAD, (M * x * slope(l)) / Math.cos(l) / RAD);
    },
  };
  const unit = 1 / (2 * HALF_WIDTH);
  return L.extend({}, L.CRS, {
    code: "equal-earth",
    projection,
    transformation: new L.Transformation(unit, 0.5, -unit, 0.5),
    infinite: false,
  });
}
