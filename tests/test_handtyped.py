"""Numbers typed by hand are found; code, shapes, versions and counts are left alone."""

import pytest

from measure.handtyped import Typed, find, message

TYPED = [
    "模板构建慢 27 倍。", "慢27倍", "慢了二十七倍", "快三千倍", "慢一倍", "快两倍多，不，是两倍", "大约 3.5 倍", "是它的 1,024 倍",
    "要 21.4 毫秒", "要 21.4毫秒", "等了 3 秒", "等了三秒", "用了 85 微秒", "只要 60 纳秒", "一共 1.2 s 才完", "一共 1.2s", "每次 21.4 ms",
    "每次 10 µs，很短", "每次 10 μs", "每次 10 us", "每次 791 ns。", "快了 30%", "快了 30 %", "快了３０％", "占 80％", "快三成", "快 3 成", "慢了七成",
    "百分之三十的时间", "百分之 30", "约 3 万次每秒", "超过 2 亿", "秒级的等待", "毫秒级就返回", "微秒级", "27 到 30 倍", "5.2–5.4 ms", "60～85 µs",
    "二十多毫秒", "十几毫秒？不，是十几秒", "差 2 个数量级", "差两个数量级", "编译要 15 分钟", "编译要十五分钟", "跑了 2 小时",
    "**27** 倍里的 27 倍", "| 模板 | 21.6 ms |", "> 引用：快 5 倍", "- 快五倍", "# 慢 27 倍", "快零点五秒", "一百二十倍", "３倍",
    "快 1.5×", "加速比是 3.2x", "提速 12x。", "等了两分半钟", "跑了三个小时", "误差在千分之三以内", "吞吐是 120 GFLOPS", "每秒 3000 次", "每秒三千次", "占内存 12 MB",
    "二进制有 4.5 MiB", "带宽 30 GB/s", "大小是 30 兆", "第一次要半秒", "用了半分钟", "快一半", "慢了一半", "是原来的三分之一", "少了四分之三的时间", "十来秒",
]  # fmt: skip

FINE = [
    "1024×1024 的矩阵", "1024 阶的方阵", "n = 1000，两千次调用", "第 11 步", "第三轮", "20 步 TRG", "二的二十次方个自旋", "β = 0.30 时",
    "burn 0.22.1 和 rustc 1.95", "Python 3.13", "`sleep 3 s` 之后", "``21.4 ms`` 是代码", "[链接](https://a.b/27%20ms)", "慢 [= times(a, b) =]。",
    "[= a.min =] 秒数不写", "[% if m.rounds > 3 %]三轮以上[% endif %]", "8 个线程", "两个库", "一个线程", "一半以上的时间", "几倍", "差的不止几倍",
    "做成一样", "一成不变地写", "分成两段", "合成一个", "拆成几项", "收缩成一个", "变成 20 步", "三成为一体？", "完成了 5 项", "十的负十二次方",
    "χ = 16", "截断数是 2、4、4、16", "256 阶", "f32、f64", "784→512→10", "batch 是 256", "点开 4 个文件", "2026-11-30 测得", "M2 Max 的 12 核",
    "`1e-12` 以下", "$10\\,\\mathrm{ms}$", "万一出错", "千万别用", "亿万", "一万维的向量", "秒表", "每秒都在变", "时间的单位是毫秒", "一秒钟的长度叫秒",
    '<span title="27 ms">看</span>', "![图](a.png){ width=80% }", "看 [这里][27 ms]", "<!-- 27 ms -->", "x86-64-v4", "AVX-512 指令", "n 和 2n 次",
    "256×256 的", "2 的 20 次方个自旋", "打开第 3 节", "Python 3.12 或更新的版本", "十二核", "三方面的原因", "成倍地涨", "秒懂", "一会儿就好", "格点少一半", "一部分时间", "四条腿连向四个邻居", "一百遍", "0x1F", "x = 3", "M2 Max 有 8 个性能核",
]  # fmt: skip


@pytest.mark.parametrize("sentence", TYPED)
def test_measurements_typed_by_hand_are_found(sentence: str) -> None:
    assert find(sentence), sentence


@pytest.mark.parametrize("sentence", FINE)
def test_what_is_no_measurement_is_left_alone(sentence: str) -> None:
    assert find(sentence) == [], sentence


def test_lines_are_counted_and_code_is_not_prose() -> None:
    page = '---\ntags: [3 ms]\n---\n# 题\n\n```python\nsleep(3)  # 3 s\n```\n\n正文 5 ms\n\n```mermaid\na["慢 27 倍"]\n```\n'
    assert find(page) == [Typed(10, "5 ms"), Typed(13, "27 倍")]


def test_a_reason_waives_its_line_only() -> None:
    assert find("超过 5 % 才算 [## 手写数字：这是规则，不是测量 ##]\n另一行 5 %\n") == [Typed(2, "5 %")]
    assert find("超过 5 % 才算 [## 手写数字： ##]\n") == [Typed(1, "5 %")]


def test_a_macro_does_not_hide_the_number_before_it() -> None:
    assert find("从 3 ms 到 [= a.min =]") == [Typed(1, "3 ms")]
    assert find("3 [= a.min =] ms") == []


def test_once_as_much_is_refused_for_what_it_leaves_open() -> None:
    assert "一倍还是两倍" in message(find("慢了一倍")[0])
