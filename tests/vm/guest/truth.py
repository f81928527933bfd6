# SPDX-License-Identifier: MIT
"""What each PMU of a model must have counted: per tick of the traffic clock, from the words that
perf_event_open() got. Written after the comments at the head of tests/vm/pmon/*.c and after what the
drivers of Linux do with the words (which bits reach a register), not after the code of the plugin.

    m = truth.model("ivt")
    m.weight("uncore_cbox_1", [0x135, 0x5 << 52, 0, 0], cpu)    # counts per tick

A model also knows what can be counted at once, see Model."""

import re

import rig


def weight(socket, instance, event, select):
    """tests/vm/pmon/pmon.h"""
    return (1 + instance + 32 * socket) * (1000 * event + 1 + select % 997)


def bits(value, first, last):
    """Bits first to last of a value, as a number."""
    return value >> first & ((1 << (last - first + 1)) - 1)


class Model:
    """What is common. A kind is a PMU's name without its numbers: "uncore_cbox", "nvidia_ucf_pmu"."""

    ROOM = {}  # kind: counters of one box that any event may use; None: every event has its own
    BASE = {}  # kind: terms of an event that counts with any other term beside it
    HAS_FIXED = set()  # kinds with a fixed counter that event=0xff asks for
    TERMS = {}  # (kind, field): event terms that use the field, where BASE with the field will not do

    def weight(self, name, words, cpu):
        """Counts per tick."""
        raise NotImplementedError

    def named(self, name):
        """The name of the PMU in the kernel's driver; it is another one where the driver knows a number only."""
        return name

    def kind(self, name):
        """A PMU's name without its numbers."""
        return re.sub(r"_\d+$", "", self.named(name))

    def unit(self, name):
        """Which of its kind a PMU counts, among those that the hardware has."""
        return split(name)[1]

    def broken(self, name):
        """Why a PMU is not to be counted, or None."""
        return None

    def suspect(self, name, words):
        """Whether the kernel counts something else than the event, so that uncore's rows must be suspect."""
        return False

    def may_be_suspect(self, name, words):
        """Whether uncore may take a right count for what a bug of a kernel makes of it."""
        return False

    def room(self, name):
        """How many counters a box has; None: no limit."""
        return self.ROOM[self.kind(name)]

    def choice(self, name, words):
        """How many of the counters can count an event, when it is not all of them; or None."""
        return None

    def shared(self, name, words):
        """What all events of a box that are counted at once must agree on; None: nothing."""
        return None

    def base(self, name):
        """Terms of an event to put other terms beside."""
        return self.BASE[self.kind(name)]

    def terms(self, name, field):
        """Event terms that use a field; None: the base with the field."""
        return self.TERMS.get((self.kind(name), field))


def split(name):
    """ "uncore_cbox_3" -> ("uncore_cbox", 3); without a number 0."""
    m = re.fullmatch(r"(.*?)(?:_(\d+))?", name)
    return m.group(1), int(m.group(2) or 0)


# ---- Intel ----------------------------------------------------------------------------------------

# Bits of the classic control register.
EVENT, UMASK, EDGE, TID_EN, INV, THRESH = 0xFF, 0xFF00, 1 << 18, 1 << 19, 1 << 23, 0xFF << 24
STD = EVENT | UMASK | EDGE | INV | THRESH
FIXED = 0xFF  # config that asks for the fixed counter


def shaped(control, plain, threshold=None):
    """Threshold, inversion and edge detection, tests/vm/pmon/intel.h: per tick one cycle in which the
    event happens `plain` times and one in which it does not. Edges are those of the threshold."""
    threshold = bits(control, 24, 31) if threshold is None else threshold
    if not threshold:
        return 0 if control & EDGE else plain
    if control & EDGE:
        return int(plain >= threshold)
    if control & INV:
        return 1 if plain >= threshold else 2
    return int(plain >= threshold)


class Intel(Model):
    """PMUs of intel_uncore. MASK is what the driver lets through to the control register."""

    MASK = {}

    def select(self, kind, control, words):
        """umask + 256 x tid_en; models add their filters."""
        return bits(control, 8, 15) + (256 if control & TID_EN else 0)

    def weight(self, name, words, cpu):
        kind, instance = split(name)[0], self.unit(name)
        socket = rig.socket_of(cpu)
        if words[0] == FIXED and kind in self.HAS_FIXED:
            return weight(socket, instance, FIXED, 0)
        control = words[0] & self.MASK[kind]
        event = self.event(kind, control)
        return shaped(control, weight(socket, instance, event, self.select(kind, control, words)),
                      self.threshold(kind, control))

    def event(self, kind, control):
        """The event's code."""
        return control & EVENT

    def threshold(self, kind, control):
        """The threshold in the control register."""
        return bits(control, 24, 31)

    def choice(self, name, words):
        kind, _ = split(name)
        if words[0] == FIXED and kind in self.HAS_FIXED:
            return 1
        for first, last, n in self.CHOICE.get(kind, ()):
            if first <= words[0] & EVENT <= last:
                return n
        return None

    CHOICE = {}


class Ivt(Intel):
    """ivt.c. The driver (uncore_snbep.c) never lets `inv` through on this model."""

    ROOM = {"uncore_cbox": 4, "uncore_ubox": 2, "uncore_pcu": 4}
    MASK = {"uncore_cbox": EVENT | UMASK | EDGE | TID_EN | THRESH,
            "uncore_ubox": EVENT | UMASK | EDGE | 0x1F << 24,
            "uncore_pcu": EVENT | 3 << 14 | EDGE | 0x1F << 24 | 3 << 30}
    HAS_FIXED = {"uncore_ubox"}
    BASE = {"uncore_cbox": "event=0x29", "uncore_ubox": "event=0x42", "uncore_pcu": "event=0x60"}
    # Filters count only with the events that they belong to.
    TERMS = {
        ("uncore_cbox", "filter_tid"): ["event=0x29,umask=2,tid_en=1,filter_tid=0x15",
                                        "event=0x35,umask=0x43,tid_en=1,filter_tid=0x1e,filter_nid=0xa5"],
        ("uncore_cbox", "filter_link"): ["event=0x31,umask=0x11,filter_link=0xb"],
        ("uncore_cbox", "filter_state"): ["event=0x34,umask=0x11,filter_state=0x2d"],
        ("uncore_cbox", "filter_nid"): ["event=0x34,umask=0x41,filter_nid=0xa55a,filter_state=0x3",
                                        "event=0x35,umask=0x48,filter_nid=0x8001"],
        ("uncore_cbox", "filter_opc"): ["event=0x35,umask=0x3,filter_opc=0x182",
                                        "event=0x35,umask=0x43,filter_opc=0x19e,filter_nid=3",
                                        "event=0x36,umask=0x3,filter_opc=0x1a5"],
        ("uncore_cbox", "filter_c6"): ["event=0x35,umask=0x1,filter_opc=0x181,filter_c6=1"],
        ("uncore_cbox", "filter_nc"): ["event=0x35,umask=0x21,filter_opc=0x180,filter_nc=1"],
        ("uncore_cbox", "filter_isoc"): ["event=0x35,umask=0x23,filter_opc=0x183,filter_isoc=1"],
        ("uncore_pcu", "filter_band0"): ["event=0xb,filter_band0=0xa5"],
        ("uncore_pcu", "filter_band1"): ["event=0xc,filter_band1=0x5a"],
        ("uncore_pcu", "filter_band2"): ["event=0xd,filter_band2=0xc3"],
        ("uncore_pcu", "filter_band3"): ["event=0xe,filter_band3=0x81,occ_sel=2"],
        ("uncore_pcu", "occ_sel"): ["event=0x80,occ_sel=1", "event=0x80,occ_sel=2", "event=0x80,occ_sel=3"],
    }
    CHOICE = {"uncore_cbox": [(0x01, 0x01, 1), (0x11, 0x11, 1), (0x36, 0x36, 1), (0x3B, 0x3B, 1),
                              (0x02, 0x02, 2), (0x04, 0x05, 2), (0x07, 0x07, 2), (0x09, 0x09, 2),
                              (0x12, 0x13, 2), (0x1B, 0x1E, 2), (0x1F, 0x1F, 2), (0x21, 0x21, 2),
                              (0x23, 0x23, 2), (0x31, 0x35, 2), (0x37, 0x39, 2)]}

    def select(self, kind, control, words):
        return super().select(kind, control, words) + self.filter(kind, control, words[1])

    def filter(self, kind, control, value):
        """The bits of config1 that reach the filter register and count with this event."""
        event = control & EVENT
        if kind == "uncore_pcu" and 0xB <= event <= 0xE:
            return value & 0xFF << 8 * (event - 0xB)
        return value & self.filter_mask(control) if kind == "uncore_cbox" else 0

    @staticmethod
    def filter_mask(control):
        """Cbo: which parts of the filter hold for an event (E5 v2 manual, events with a filter)."""
        event, umask = control & EVENT, bits(control, 8, 15)
        mask = 0x1F if control & TID_EN else 0
        if event == 0x31 and umask & 0x10:
            mask |= 0xF << 5
        if event == 0x34:
            mask |= 0x3F << 17
        if event in (0x34, 0x35, 0x36, 0x37) and umask & 0x40:
            mask |= 0xFFFF << 32
        if event in (0x35, 0x36) and umask & 1:
            mask |= 0x1FF << 52 | 7 << 61
        return mask

    def suspect(self, name, words):
        return name == "uncore_ubox" and words[0] & INV != 0

    def shared(self, name, words):
        kind, _ = split(name)
        control = words[0] & self.MASK[kind]
        used = kind == "uncore_cbox" and self.filter_mask(control)
        if kind == "uncore_pcu" and 0xB <= control & EVENT <= 0xE:
            used = control & EVENT
        return (used, self.filter(kind, control, words[1])) if used else None


class Skx(Intel):
    """skx.c."""

    ROOM = {"uncore_cha": 4, "uncore_iio": 4, "uncore_irp": 2, "uncore_pcu": 4, "uncore_ubox": 2, "uncore_imc": 4,
            "uncore_m2m": 4, "uncore_upi": 4, "uncore_m2pcie": 4, "uncore_m3upi": 3,
            "uncore_iio_free_running": None}
    MASK = {**{kind: STD for kind in ROOM}, "uncore_cha": STD | TID_EN, "uncore_ubox": STD & ~(7 << 29),
            "uncore_iio": STD | 0x7FFF << 32,
            "uncore_pcu": EVENT | 3 << 14 | EDGE | INV | 0x1F << 24 | 3 << 30}
    HAS_FIXED = {"uncore_imc", "uncore_ubox"}
    BASE = {**{kind: "event=0x29" for kind in ROOM}, "uncore_iio_free_running": "event=0xff,umask=0x21",
            "uncore_imc": "event=0x4,umask=0x3", "uncore_upi": "event=0x2,umask=0xf"}
    CHOICE = {"uncore_cha": [(0x11, 0x11, 1), (0x36, 0x36, 1)],
              "uncore_iio": [(0x83, 0x83, 2), (0x88, 0x88, 2), (0x95, 0x95, 2), (0xC0, 0xC0, 2), (0xC5, 0xC5, 2),
                             (0xD4, 0xD5, 2)],
              "uncore_m2pcie": [(0x23, 0x23, 2)], "uncore_m3upi": [(0x1D, 0x1E, 1)]}
    TERMS = {
        ("uncore_cha", "filter_tid"): ["event=0x29,umask=2,tid_en=1,filter_tid=0x155",
                                       "event=0x38,umask=1,filter_tid=0x1a3"],
        ("uncore_cha", "filter_state"): ["event=0x34,umask=0x11,filter_state=0x2a5"],
        ("uncore_cha", "filter_opc0"): ["event=0x35,umask=0x21,filter_opc0=0x201",
                                        "event=0x36,umask=0x21,filter_opc0=0x2a5,filter_rem=1"],
        ("uncore_cha", "filter_opc1"): ["event=0x35,umask=0x21,filter_opc1=0x259"],
        **{("uncore_cha", f"filter_{field}"): [f"event=0x35,umask=0x14,filter_opc0=0x202,filter_{field}=1"]
           for field in ("rem", "loc", "all_op", "nm", "not_nm", "nc", "isoc")},
        ("uncore_iio", "ch_mask"): ["event=0x83,umask=0x4,ch_mask=0x5,fc_mask=0x7",
                                    "event=0xc0,ch_mask=0x81,fc_mask=5"],
        ("uncore_iio_free_running", "event"): ["event=0xff,umask=0x10"],
        ("uncore_iio_free_running", "umask"): ["event=0xff,umask=0x27", "event=0xff,umask=0x35"],
        **{("uncore_pcu", f"filter_band{n}"): [f"event={0xb + n:#x},filter_band{n}=0xa5"] for n in range(4)},
        ("uncore_pcu", "umask"): ["event=0x80,umask=0xc0", "event=0x80,umask=0x40"],
    }
    FREE = {"uncore_iio_free_running"}
    CUT = {"uncore_upi"}  # the driver writes the low half of the control register only
    CHA_TID, CHA_STATE = 0x1FF, 0x3FF << 17
    CHA_OPC = 0x3B << 32 | 0x3FF << 41 | 0x3FF << 51 | 3 << 62

    def weight(self, name, words, cpu):
        kind, instance = split(name)
        if kind in self.FREE:
            return weight(rig.socket_of(cpu), instance, bits(words[0], 8, 15), 0)
        return super().weight(name, words, cpu)

    def threshold(self, kind, control):
        return bits(control, 24, {"uncore_iio": 35, "uncore_pcu": 28}.get(kind, 31))

    def select(self, kind, control, words):
        umask, event = bits(control, 8, 15), control & EVENT
        if kind == "uncore_iio":
            return umask + (bits(control, 36, 43) << 8) + (bits(control, 44, 46) << 16)
        if kind == "uncore_cha":
            return umask + (256 if control & TID_EN else 0) + (words[1] & self.cha_fields(control))
        if kind == "uncore_pcu":
            return umask + (bits(control, 30, 31) << 8) + self.band(event, words[1])
        return umask

    def suspect(self, name, words):
        if self.kind(name) == "uncore_pcu":
            return 0xC <= words[0] & EVENT <= 0xE
        return self.kind(name) in self.CUT and words[0] >> 32 != 0

    def cha_fields(self, control):
        """The fields of the filter that an event looks at."""
        if control & TID_EN:
            return self.CHA_TID | self.CHA_STATE | self.CHA_OPC
        return {0x34: self.CHA_STATE, 0x35: self.CHA_OPC, 0x36: self.CHA_OPC, 0x38: self.CHA_TID}.get(
            control & EVENT, 0)

    @staticmethod
    def band(event, value):
        """Linux masks the value by 0xff << number and not by 0xff << 8 * number (hswep_pcu_hw_config), so
        of band 1 the lowest bit is left, and of bands 2 and 3 nothing."""
        number = event - 0xB
        return value & 0xFF << number & 0xFF << 8 * number if 0 <= number <= 3 else 0

    def shared(self, name, words):
        kind, _ = split(name)
        control = words[0] & self.MASK[kind]
        used = self.cha_fields(control) if kind == "uncore_cha" else 0
        if kind == "uncore_pcu" and 0xB <= control & EVENT <= 0xE:
            used = control & EVENT
        return (used, words[1]) if used else None


class Icx(Skx):
    """icx.c. Of UPI's, M2M's and the controllers' umask the driver writes the low byte."""

    ROOM = {"uncore_cha": 4, "uncore_iio": 4, "uncore_irp": 2, "uncore_m2pcie": 4, "uncore_pcu": 4, "uncore_ubox": 2,
            "uncore_imc": 4, "uncore_m2m": 4, "uncore_upi": 4, "uncore_m3upi": 4,
            "uncore_iio_free_running": None, "uncore_imc_free_running": None}
    MASK = {**{kind: STD for kind in ROOM}, "uncore_cha": STD | TID_EN | 0x3FFFFFF << 32,
            "uncore_ubox": STD & ~(7 << 29), "uncore_iio": STD | 0x7FFFF << 32,
            "uncore_pcu": Skx.MASK["uncore_pcu"]}
    FREE = {"uncore_iio_free_running", "uncore_imc_free_running"}
    CUT = {"uncore_upi", "uncore_m2m"}
    BASE = {**{kind: "event=0x29" for kind in ROOM}, "uncore_iio_free_running": "event=0xff,umask=0x21",
            "uncore_imc_free_running": "event=0xff,umask=0x20", "uncore_imc": "event=0x4,umask=0xf",
            "uncore_upi": "event=0x2,umask=0xf"}
    CHOICE = {"uncore_cha": [(0x11, 0x11, 1), (0x36, 0x36, 1)],
              "uncore_iio": [(0x02, 0x03, 2), (0x83, 0x83, 2), (0x88, 0x88, 2), (0xC0, 0xC0, 2), (0xC5, 0xC5, 2),
                             (0xD5, 0xD5, 2)],
              "uncore_m2pcie": [(0x14, 0x14, 2), (0x23, 0x23, 2), (0x2D, 0x2D, 2)],
              "uncore_m3upi": [(0x1C, 0x1F, 1)]}
    TERMS = {
        ("uncore_cha", "filter_tid"): ["event=0x29,umask=2,tid_en=1,filter_tid=0x155"],
        ("uncore_cha", "umask"): ["event=0x35,umask=0xc817fe01", "event=0x36,umask=0x2c8178601"],  # 34 bits
        ("uncore_iio", "ch_mask"): ["event=0x83,umask=0x4,ch_mask=0xa05,fc_mask=0x7",
                                    "event=0xc0,ch_mask=0x81,fc_mask=5"],
        ("uncore_iio_free_running", "event"): ["event=0xff,umask=0x10"],
        ("uncore_iio_free_running", "umask"): ["event=0xff,umask=0x27"],
        ("uncore_imc_free_running", "event"): ["event=0xff,umask=0x10"],
        ("uncore_imc_free_running", "umask"): ["event=0xff,umask=0x21"],
        **{key: Skx.TERMS[key] for key in Skx.TERMS if key[0] == "uncore_pcu"},
    }
    TID, TID_MASK = TID_EN, 0x1FF
    THIRD = True  # of three channels of a controller the hardware has the first two

    def unit(self, name):
        kind, number = split(name)
        return number - number // 3 if self.THIRD and kind == "uncore_imc" else number

    def select(self, kind, control, words):
        umask = bits(control, 8, 15)
        if kind == "uncore_iio":
            return umask + (bits(control, 36, 47) << 8) + (bits(control, 48, 50) << 20)
        if kind == "uncore_cha":
            tid = 512 + (words[1] & self.TID_MASK) if control & self.TID else 0
            return umask + (control >> 32 << 8) + tid
        if kind in self.WIDE:
            return umask + (control >> 32 << 8)
        return super().select(kind, control, words)

    WIDE = set()

    def shared(self, name, words):
        """Each CHA event writes the box's filter, be it with 0: the last one holds."""
        return words[1] if self.kind(name) == "uncore_cha" else super().shared(name, words)


class Spr(Icx):
    """spr.c. Discovered boxes, of which type 5 is the UBOX, instance 0."""

    THIRD = False
    ROOM = {"uncore_cha": 4, "uncore_iio": 4, "uncore_irp": 2, "uncore_m2pcie": 4, "uncore_pcu": 4, "uncore_type": 2,
            "uncore_mdf": 4, "uncore_imc": 4, "uncore_m2m": 4, "uncore_upi": 4, "uncore_m3upi": 4, "uncore_cxlcm": 8,
            "uncore_cxldp": 4, "uncore_hbm": 4, "uncore_iio_free_running": None, "uncore_imc_free_running": None}
    TID, TID_MASK = 1 << 16, 0x3FF
    WIDE = {"uncore_irp", "uncore_m2pcie", "uncore_mdf", "uncore_m2m", "uncore_upi", "uncore_m3upi"}
    MASK = {**{kind: STD for kind in ROOM}, **{kind: STD | 0xFFFFFF << 32 for kind in WIDE},
            "uncore_cha": STD | 1 << 16 | 0xFFFFFFFF << 32, "uncore_iio": STD | 0x7FFFF << 32}
    HAS_FIXED = {"uncore_imc"}
    BASE = {**{kind: "event=0x29" for kind in ROOM}, "uncore_iio_free_running": "event=0xff,umask=0x21",
            "uncore_imc_free_running": "event=0xff,umask=0x20", "uncore_imc": "event=0x5,umask=0xcf",
            "uncore_upi": "event=0x2,umask=0xf"}
    CHOICE = {"uncore_cha": Icx.CHOICE["uncore_cha"], "uncore_iio": Icx.CHOICE["uncore_iio"],
              "uncore_m2pcie": [(0x14, 0x14, 2), (0x2D, 0x2D, 2)], "uncore_m3upi": [(0x1C, 0x1F, 1)],
              "uncore_cxlcm": [(0x02, 0x02, 4), (0x05, 0x05, 4), (0x40, 0x43, 4), (0x4B, 0x4B, 4), (0x52, 0x52, 4)]}
    TERMS = {**{key: value for key, value in Icx.TERMS.items() if key[0] != "uncore_pcu"},
             ("uncore_cha", "umask"): ["event=0x35,umask=0xc817fe01", "event=0x36,umask=0x10c8178201"],
             ("uncore_cha", "filter_tid"): ["event=0x29,umask=2,tid_en=1,filter_tid=0x355"],
             ("uncore_cxlcm", "event"): ["event=0x41,umask=0x10", "event=0x5"]}

    # Types of discovered boxes that the driver has no name for; all but type 5 are those of Linux 6.1.
    TYPES = {5: "uncore_type", 12: "uncore_cxlcm", 13: "uncore_cxldp", 14: "uncore_hbm"}

    def named(self, name):
        m = re.fullmatch(r"uncore_type_(\d+)(_\d+)?", name)
        return self.TYPES[int(m.group(1))] + (m.group(2) or "") if m else name

    def weight(self, name, words, cpu):
        return super().weight(self.named(name), words, cpu)

    def threshold(self, kind, control):
        return bits(control, 24, 35 if kind == "uncore_iio" else 31)

    def select(self, kind, control, words):
        if kind == "uncore_pcu":
            return bits(control, 8, 15)
        return super().select(kind, control, words)

    LINK_0 = rig.KERNEL >= (6, 11)  # each link's PMU then goes to the registers of link 0

    def suspect(self, name, words):
        return self.LINK_0 and self.kind(name) in ("uncore_upi", "uncore_m3upi")

    def may_be_suspect(self, name, words):
        """Edges and thresholds count the same on all links, and equal counts are what shows the bug."""
        return self.kind(name) in ("uncore_upi", "uncore_m3upi") and self.threshold("", words[0]) != 0

    def broken(self, name):
        if self.LINK_0 and re.fullmatch(r"uncore_m?3?upi_[1-9]", name):
            return "Linux 7.2 goes to the registers of link 0 for every link"
        if re.match(r"uncore_type_1[23]_", name):
            return "Linux 6.1 has the controls of CXL boxes at half their distance"
        return None

    def shared(self, name, words):
        if self.kind(name) != "uncore_cha":
            return None
        return words[1] & self.TID_MASK if words[0] & self.TID else None


class Gnr(Spr):
    """spr.c: the boxes have the names that Sapphire Rapids has for them here. Linux 6.1 knows neither the CPU nor its
    boxes: it has the numbers of their types, the bits that any box has, and no fixed counter."""

    LINK_0 = False
    NUMBERS_ONLY = rig.KERNEL < (6, 7)
    MISSING = {"uncore_m2pcie", "uncore_m3upi", "uncore_hbm", "uncore_imc_free_running"}
    TYPES = {0: "uncore_cha", 1: "uncore_iio", 2: "uncore_irp", 4: "uncore_pcu", 5: "uncore_type", 6: "uncore_imc",
             8: "uncore_upi", 12: "uncore_cxlcm", 13: "uncore_cxldp", 16: "uncore_m2m", 20: "uncore_mdf"}
    NAMES = {"uncore_b2cmi": "uncore_m2m", "uncore_mdf_sbo": "uncore_mdf", "uncore_ubox": "uncore_type"}
    ROOM = dict(Spr.ROOM)
    for _kind in MISSING | ({"uncore_iio_free_running"} if NUMBERS_ONLY else set()):
        del ROOM[_kind]
    if NUMBERS_ONLY:
        MASK, HAS_FIXED, CHOICE, TERMS = dict.fromkeys(ROOM, STD), set(), {}, {}

    def named(self, name):
        stem, number = re.fullmatch(r"(.*?)((?:_\d+)?)", super().named(name)).groups()
        return self.NAMES.get(stem, stem) + number

    def threshold(self, kind, control):
        return bits(control, 24, 31) if self.NUMBERS_ONLY else super().threshold(kind, control)


# ---- AMD ------------------------------------------------------------------------------------------


class Amd(Model):
    """amd.c: Zen 4. A UMC's socket is in its number; a CPU's L3 is that of its half of the socket."""

    UMCS = 4  # on each socket
    ROOM = {"amd_df": 16, "amd_l3": 6, "amd_umc": 4}
    BASE = {"amd_df": "event=0x1f", "amd_l3": "event=0x4", "amd_umc": "event=0xa"}
    TERMS = {
        # The driver puts its own choice in place of the others when threadmask is 0.
        ("amd_l3", "coreid"): ["event=0x9a,umask=0x3f,threadmask=3,coreid=5"],
        ("amd_l3", "enallcores"): ["event=0x9a,umask=0x3f,threadmask=1,enallcores=1",
                                   "event=0x9a,umask=0x3f,enallcores=1"],
        ("amd_l3", "enallslices"): ["event=0x9a,umask=0x3f,threadmask=2,enallslices=1"],
        ("amd_l3", "sliceid"): ["event=0xac,umask=0x3f,threadmask=3,enallcores=1,enallslices=1,sliceid=3",
                                "event=0xac,umask=0x3f,threadmask=3,sliceid=5"],
        ("amd_l3", "threadmask"): ["event=0xad,umask=0x3f,threadmask=3", "event=0xad,umask=1,threadmask=2"],
        # Both parts of the split fields.
        ("amd_df", "event"): ["event=0x81f,umask=0x7fe", "event=0x295f,umask=0x2", "event=0xb5f,umask=0xf3e"],
        ("amd_df", "umask"): ["event=0x1f,umask=0xbff", "event=0x4df,umask=0x7ff", "event=0x5,umask=0x801"],
    }

    def weight(self, name, words, cpu):
        kind, number = split(name)
        config, socket = words[0], rig.socket_of(cpu)
        event = bits(config, 0, 7)
        if kind == "amd_df":
            return weight(socket, 0, event + (bits(config, 32, 37) << 8),
                          bits(config, 8, 15) + (bits(config, 24, 27) << 8))
        if kind == "amd_l3":
            return weight(socket, self.l3_of(cpu), event, self.l3_select(config))
        return weight(number // self.UMCS, number % self.UMCS, event, bits(config, 8, 9))

    @staticmethod
    def l3_of(cpu):
        """The number of a CPU's L3 within the socket: halves of the next power of two."""
        per_socket = rig.CPUS // rig.SOCKETS
        half = max((1 << (per_socket - 1).bit_length()) // 2, 1)
        return cpu % per_socket // half

    @staticmethod
    def l3_select(config):
        """threadmask, sliceid, enallcores, enallslices, coreid: all the driver's without a threadmask."""
        threads, slices, all_cores, all_slices, core = (
            bits(config, 56, 57), bits(config, 48, 50), bits(config, 47, 47), bits(config, 46, 46),
            bits(config, 42, 44))
        if not threads:
            threads, slices, all_cores, all_slices, core = 3, 0, 1, 1, 0
        return (bits(config, 8, 15) + (threads << 8) + (slices << 10) + (all_cores << 13)
                + (all_slices << 14) + (core << 15))


# ---- NVIDIA ---------------------------------------------------------------------------------------

CYCLES = 1000  # the cycle counter's event in weights, nvidia.h
ALL_CYCLES = 1 << 32  # config of the cycle counter of a CoreSight PMU


class Nvidia(Model):
    """The socket, and the root complex as instance, are in the name."""

    FREE = set()  # kinds whose events share fixed counters

    def kind(self, name):
        return re.sub(r"_pmu_\d+.*", "_pmu", name)

    @staticmethod
    def place(name):
        """(socket, instance)"""
        m = re.fullmatch(r".*_pmu_(\d+)(?:_rc_(\d+))?", name)
        return int(m.group(1)), int(m.group(2) or 0)

    def is_cycles(self, name, words):
        """Whether the cycle counter counts it, of which a PMU has one."""
        return words[0] == ALL_CYCLES

    def choice(self, name, words):
        return 1 if self.kind(name) not in self.FREE and self.is_cycles(name, words) else None


class T410(Nvidia):
    """t410.c and free.c, and what nvidia_cspmu.c writes into the filters."""

    FREE = {"nvidia_cmem_latency_pmu", "nvidia_nvlink_c2c_pmu", "nvidia_nvclink_pmu", "nvidia_nvdlink_pmu"}
    ROOM = {"nvidia_ucf_pmu": 6, "nvidia_pcie_pmu": 4, "nvidia_pcie_tgt_pmu": 4, **{k: 32 for k in FREE}}
    BASE = {"nvidia_ucf_pmu": "event=0x113", "nvidia_pcie_pmu": "event=0x1", "nvidia_pcie_tgt_pmu": "event=0x2",
            "nvidia_cmem_latency_pmu": "event=0x1", "nvidia_nvlink_c2c_pmu": "event=0x6",
            "nvidia_nvclink_pmu": "event=0x5", "nvidia_nvdlink_pmu": "event=0x2"}
    TERMS = {
        ("nvidia_ucf_pmu", "src_loc_cpu"): ["event=0x123,src_loc_cpu=1", "event=0x123,src_loc_cpu=1,src_rem=1",
                                            "event=0x124,src_loc_cpu=1,dst_loc_gmem=1,dst_rem=1"],
        # A port mask and a BDF exclude each other; a BDF without its enable bit is refused by a rule.
        ("nvidia_pcie_pmu", "src_rp_mask"): ["event=0x1,src_rp_mask=0xa5", "event=0x3,src_rp_mask=0x81,dst_rem=1"],
        ("nvidia_pcie_pmu", "src_bdf"): ["event=0x2,src_bdf=0x2709,src_bdf_en=1"],
        ("nvidia_pcie_pmu", "src_bdf_en"): ["event=0x0,src_bdf=0x108,src_bdf_en=1,dst_loc_cmem=1"],
        ("nvidia_pcie_tgt_pmu", "dst_rp_mask"): ["event=0x1,dst_rp_mask=0xa5", "event=0x3,dst_rp_mask=0x81"],
        # Base and mask 0 are what the driver marks free slots with: it mixes them up.
        ("nvidia_pcie_tgt_pmu", "dst_addr_en"): ["event=0x2,dst_addr_en=1,dst_addr_base=0x1000,dst_addr_mask=0xf000"],
        ("nvidia_pcie_tgt_pmu", "dst_addr_base"): [
            "event=0x0,dst_addr_en=1,dst_addr_base=0x10000,dst_addr_mask=0xfff00"],
        ("nvidia_pcie_tgt_pmu", "dst_addr_mask"): [
            "event=0x1,dst_addr_en=1,dst_rp_mask=0x3,dst_addr_base=0xfedcba9876543210,"
            "dst_addr_mask=0xffffffff00000000"],
        ("nvidia_nvlink_c2c_pmu", "gpu_mask"): ["event=0x2,gpu_mask=0x1", "event=0x4,gpu_mask=0x2",
                                                "event=0x0,gpu_mask=0x2", "event=0x8,gpu_mask=0x3"],
        ("nvidia_cmem_latency_pmu", "event"): ["event=0x0", "event=0x1", "event=0x2"],
        **{(f"nvidia_{link}_pmu", "event"): [f"event={n:#x}" for n in range(9)]
           for link in ("nvlink_c2c", "nvclink", "nvdlink")},
        ("nvidia_pcie_pmu", "event"): ["event=0x3", "event=0x4"],
        ("nvidia_pcie_tgt_pmu", "event"): ["event=0x1", "event=0x3"],
    }
    NVLINK = "nvidia_nvlink_c2c_pmu"
    DEVICES = [(0, 0x100), (1, 0x200)]  # root port and BDF of those behind root complex 0

    def is_cycles(self, name, words):
        if self.kind(name) == "nvidia_pcie_tgt_pmu":
            return bits(words[0], 0, 2) == 4
        return super().is_cycles(name, words)

    def weight(self, name, words, cpu):
        kind, (socket, instance) = self.kind(name), self.place(name)
        if kind in self.FREE:
            return self.free(kind, socket, words)
        if self.is_cycles(name, words):
            select = {"nvidia_ucf_pmu": words[1] & 0xF07 or 0xF07,
                      "nvidia_pcie_pmu": words[1] & 0x1FFFFFF or 0xFF, "nvidia_pcie_tgt_pmu": 0}[kind]
            return weight(socket, instance, CYCLES, select)
        if kind == "nvidia_pcie_pmu" and instance == 0:
            return self.devices(socket, words)
        event, select = getattr(self, kind.removeprefix("nvidia_"))(words)
        return 0 if select is None else weight(socket, instance, event, select)

    def free(self, kind, socket, words):
        """Counters that always run. Each GPU counts for itself; cycles are those of the first one."""
        event = words[0] & (3 if kind == "nvidia_cmem_latency_pmu" else 0xF)
        gpus = [0]
        if kind == self.NVLINK:
            mask = words[1] & 3 or 3
            gpus = [gpu for gpu in (0, 1) if mask >> gpu & 1]
        if event == 0:
            return weight(socket, 0, CYCLES, gpus[0])
        return sum(weight(socket, 0, event, gpu) for gpu in gpus)

    @staticmethod
    def ucf_pmu(words):
        """Sources and destinations, all of them when none is asked for."""
        return words[0] & 0xFFFFFFFF, (words[1] & 7 or 7) | (words[1] & 0xF00 or 0xF00)

    @staticmethod
    def source_and_destination(words):
        """No filter on the source: all ports; none on the destination: all of them."""
        return words[1] & 0x1FFFFFF or 0xFF, words[2] & 0x1F or 0x1F

    def pcie_pmu(self, words):
        """A BDF without its enable bit: nothing."""
        source, destination = self.source_and_destination(words)
        return words[0] & 0xFFFFFFFF, source + 31 * destination if source & 0x10000FF else None

    def devices(self, socket, words):
        """Root complex 0: only its devices count, each for itself."""
        source, destination = self.source_and_destination(words)
        wanted = [number for number, (port, bdf) in enumerate(self.DEVICES)
                  if (bits(source, 8, 23) == bdf if source >> 24 & 1 else source >> port & 1)]
        return sum(weight(socket, 0, words[0] & 0xFFFFFFFF, 100 * number + to)
                   for number in wanted for to in range(5) if destination >> to & 1)

    @staticmethod
    def pcie_tgt_pmu(words):
        """All ports without a port or an address filter."""
        ports, by_address = bits(words[0], 3, 10), bits(words[0], 11, 11)
        select = 31 * (ports or (0 if by_address else 0xFF))
        if by_address:
            select += 1 + words[1] % 997 + 7 * (words[2] % 997)
        return bits(words[0], 0, 2), select

    def shared(self, name, words):
        if self.kind(name) == "nvidia_pcie_pmu" and not self.is_cycles(name, words):
            return bits(words[1], 8, 24) if words[1] >> 24 & 1 else "no BDF"
        return None


class T410Min(T410):
    """t410.c: one GPU, and no cycle counters in UCF and PCIE."""

    TERMS = {**T410.TERMS, (T410.NVLINK, "gpu_mask"): ["event=0x2,gpu_mask=0x1", "event=0x0,gpu_mask=0x1"]}

    def free(self, kind, socket, words):
        return super().free(kind, socket, [words[0], 1])


class Grace(Nvidia):
    """grace.c: the filter is the mask of ports, all of them when it is 0."""

    PORTS = {"nvidia_scf_pmu": 0, "nvidia_nvlink_c2c0_pmu": 0x3, "nvidia_nvlink_c2c1_pmu": 0x3,
             "nvidia_pcie_pmu": 0x3FF, "nvidia_cnvlink_pmu": 0xF}
    ROOM = {kind: 6 if kind == "nvidia_scf_pmu" else 4 for kind in PORTS}
    BASE = {kind: "event=0x1a5" if kind == "nvidia_scf_pmu" else "event=0x4" for kind in PORTS}

    def weight(self, name, words, cpu):
        socket, instance = self.place(name)
        ports = self.PORTS[self.kind(name)]
        event = CYCLES if self.is_cycles(name, words) else words[0] & 0xFFFFFFFF
        return weight(socket, instance, event, words[1] & ports or ports)


MODELS = {"ivt": Ivt, "skx": Skx, "icx": Icx, "spr": Spr, "gnr": Gnr, "amd": Amd, "t410": T410, "t410min": T410Min,
          "grace": Grace}


def model(name):
    """The model of that name."""
    if name not in MODELS:
        raise KeyError(f"truth.py has no section for the model {name}")
    return MODELS[name]()
